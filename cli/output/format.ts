import { UsageError } from '../failure.ts'

export const formats = ['table', 'wide', 'json', 'yaml', 'uid'] as const
export type Format = (typeof formats)[number]

export function parseFormat(text: string | undefined, fallback: Format = 'table'): Format {
  const format = formats.find((candidate) => candidate === (text ?? fallback))
  if (!format)
    throw new UsageError(
      `--output must be ${formats.slice(0, -1).join(', ')} or ${formats.at(-1)}, not ${JSON.stringify(text)}`,
    )
  return format
}

/** Refuses other formats than JSON for a command that prints a stream. */
export function requireJson(command: string, text: string | undefined): void {
  if (text !== undefined && text !== 'json')
    throw new UsageError(`${command} prints one JSON document per line; --output ${text} is not supported`)
}
