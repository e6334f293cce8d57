// `stemma completion SHELL`, and the hidden `stemma __complete` that its scripts ask.
import { completionHelp } from '../help/help.ts'
import { oneLine } from '../one-line.ts'
import { UsageError } from '../usage.ts'
import { complete } from './complete.ts'
import { scripts } from './scripts.ts'

export function completionScript(args: string[]): string {
  const shell = args.find((arg) => !arg.startsWith('-'))
  if (shell === undefined) return `${completionHelp}\n`
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
  if (script === undefined)
    throw new UsageError(
      `there is completion for ${Object.keys(scripts).join(', ')}, not ${JSON.stringify(shell)}`,
    )
  return script
}

export async function completions(args: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const candidates = await complete(args[0] === '--' ? args.slice(1) : args, env)
  return candidates
    .map(({ word, about = '' }) => `${oneLine(word)}${about === '' ? '' : `\t${oneLine(about)}`}\n`)
    .join('')
}
