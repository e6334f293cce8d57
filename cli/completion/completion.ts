// `stemma completion SHELL`, and the hidden command `stemma __complete` that the scripts of the shells call.
import { UsageError } from '../failure.ts'
import { completionHelp } from '../help/completion-help.ts'
import type { Runtime } from '../runtime.ts'
import { singleLine } from '../single-line.ts'
import { scripts } from './scripts.ts'

export function completionScript(args: string[]): string {
  const shell = args.find((arg) => !arg.startsWith('-'))
  if (shell === undefined) return `${completionHelp}\n`
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
  if (script === undefined)
    throw new UsageError(
      `completion supports ${Object.keys(scripts).join(', ')}, not ${JSON.stringify(shell)}`,
    )
  return script
}

/** One candidate per line, followed by a tab and its description if it has one. */
export async function completions(args: string[], runtime: Runtime): Promise<string> {
  // Imported here, because it loads the whole contract, and shells run `stemma completion` whenever they start.
  const { complete } = await import('./complete.ts')
  const candidates = await complete(args[0] === '--' ? args.slice(1) : args, runtime)
  return candidates
    .map(({ word, description = '' }) => {
      const suffix = description === '' ? '' : `\t${singleLine(description)}`
      return `${singleLine(word)}${suffix}\n`
    })
    .join('')
}
