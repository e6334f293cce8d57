// The commands of stemmad, and its help.
import { ConfigError } from '../config/config.ts'
import { settings } from '../config/settings.ts'
import { backup } from './backup.ts'
import { bootstrap } from './bootstrap.ts'
import { check } from './check.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError } from './command.ts'
import { importRecords } from './import.ts'
import { keys } from './keys.ts'
import { migrate } from './migrate.ts'
import { restore } from './restore.ts'
import { serve } from './serve.ts'
import { token } from './token.ts'
import { users } from './users.ts'
import { verify } from './verify.ts'

const commands: Record<string, Command> = {
  serve,
  bootstrap,
  users,
  token,
  verify,
  keys,
  import: importRecords,
  backup,
  restore,
  migrate,
  check,
}

export async function runCommand(
  [name = 'help', ...args]: string[],
  context: CommandContext,
): Promise<number> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return printHelp(name, context)
  if (args.includes('--help') || args.includes('-h')) {
    context.stdout.write(`${commandHelp(command)}\n`)
    return 0
  }
  try {
    return await command.run(args, context)
  } catch (error) {
    const isOperatorError = error instanceof ConfigError || error instanceof UsageError
    context.stderr.write(`${isOperatorError ? error.message : describeError(error)}\n`)
    return isOperatorError ? 2 : 1
  }
}

/**
 * Prints the help to standard output if `name` asks for help. Otherwise prints it to standard error, after a message
 * that the command is unknown.
 */
function printHelp(name: string, context: CommandContext): number {
  const isRequested = ['help', '--help', '-h'].includes(name)
  if (isRequested) context.stdout.write(`${help()}\n`)
  else context.stderr.write(`stemmad has no command ${JSON.stringify(name)}\n\n${help()}\n`)
  return isRequested ? 0 : 2
}

/** System errors, such as a port in use or a database that does not respond, need no stack. */
function describeError(error: unknown): string {
  const { code, message, stack } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return `${message}\nAnother program uses this port; choose another one with PORT=… or --port`
  if (code !== undefined) return `stemmad: ${message || code}`
  return stack ?? String(error)
}

function help(): string {
  const width = Math.max(...Object.values(commands).map(({ usage }) => usage.length))
  const lines = Object.values(commands).map(({ usage, summary }) => `  ${usage.padEnd(width)}  ${summary}`)
  return `stemmad runs and administers a Stemma server.

Usage: stemmad COMMAND

${lines.join('\n')}

stemmad COMMAND --help describes a command.

${settingsHelp()}`
}

const commandHelp = ({ usage, summary, details }: Command) =>
  `Usage: stemmad ${usage}\n\n${summary}\n${details ? `${details}\n` : ''}\n${settingsHelp()}`

function settingsHelp(): string {
  const rows = Object.values(settings).map(({ variable, flag, about, defaultText }) => {
    const name = `${variable}, --${flag}`
    return `  ${name.padEnd(settingWidth)} ${about}${defaultText === '' ? '' : ` (${defaultText})`}`
  })
  return `Settings, as environment variables or flags (defaults in parentheses):\n${rows.join('\n')}`
}

/** Fits the longest name of a setting. */
const settingWidth = 52
