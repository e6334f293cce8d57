// Saves a stream of the API as a file with one JSON object on each line.
import { saveFile } from '../ui/save-file.ts'
import { toast } from '../ui/toast.ts'
import { errorText } from './error-text.ts'

/** A browser keeps the whole file in memory; the command line has no such limit. */
const maxLines = 100_000

/** `unlimitedCommand` exports the same without a limit. */
export async function exportLines(
  stream: AsyncIterable<unknown>,
  { name, unlimitedCommand }: { name: string; unlimitedCommand: string },
): Promise<void> {
  toast('The export has begun')
  const lines: string[] = []
  try {
    for await (const entry of stream) {
      if (lines.length === maxLines) {
        toast(`Only the first ${maxLines} were exported; ${unlimitedCommand} has no limit`, 'warning')
        break
      }
      lines.push(JSON.stringify(entry))
    }
  } catch (error) {
    toast(errorText(error).text, 'error')
    return
  }
  saveFile(name, lines.map((line) => `${line}\n`).join(''), 'application/jsonl')
}
