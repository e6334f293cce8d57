// The commands of stemmad, and its help.
import { ConfigError } from '../config/config-error.ts'
import { settings } from '../config/settings.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError } from './command.ts'
import type { CommandName, HelpText } from './help-texts.ts'
import { helpTexts } from './help-texts.ts'

/** A command is loaded when it runs: loading all of them takes 0.35 seconds. */
const commands: Record<CommandName, () => Promise<Command>> = {
  serve: async () => (await import('./serve.ts')).serve,
  demo: async () => (await import('./demo.ts')).demo,
  bootstrap: async () => (await import('./bootstrap.ts')).bootstrap,
  users: async () => (await import('./users.ts')).users,
  operators: async () => (await import('./operators.ts')).operators,
  token: async () => (await import('./token.ts')).token,
  verify: async () => (await import('./verify.ts')).verify,
  limits: async () => (await import('./limits.ts')).limits,
  keys: async () => (await import('./keys.ts')).keys,
  import: async () => (await import('./import.ts')).importRecords,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  migrate: async () => (await import('./migrate.ts')).migrate,
  gc: async () => (await import('./gc.ts')).gc,
  check: async () => (await import('./check.ts')).check,
  audit: async () => (await import('./audit.ts')).audit,
}

export async function runCommand(
  [name = 'help', ...args]: string[],
  context: CommandContext,
): Promise<number> {
  if (!isCommand(name)) return printHelp(name, context)
  if (args.includes('--help') || args.includes('-h')) {
    context.stdout.write(`${commandHelp(helpTexts[name])}\n`)
    return 0
  }
  const run = await commands[name]()
  try {
    return await run(args, context)
  } catch (error) {
    const isOperatorError = error instanceof ConfigError || error instanceof UsageError
    context.stderr.write(`${isOperatorError ? error.message : describeError(error)}\n`)
    return isOperatorError ? 2 : 1
  }
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(commands, name)

/**
 * Prints the help to standard output if `name` asks for help. Otherwise prints it to standard error, after a message
 * that the command is unknown.
 */
function printHelp(name: string, context: CommandContext): number {
  const isRequested = ['help', '--help', '-h'].includes(name)
  const text = help()
  if (isRequested) context.stdout.write(`${text}\n`)
  else context.stderr.write(`stemmad has no command ${JSON.stringify(name)}\n\n${text}\n`)
  return isRequested ? 0 : 2
}

/** System errors, such as a port in use or a database that does not respond, need no stack. */
function describeError(error: unknown): string {
  const { code, stack } = error as NodeJS.ErrnoException
  const message = messageOf(error)
  if (code === 'EADDRINUSE')
    return `${message}\nAnother program uses this port; choose another one with PORT=… or --port`
  if (code === 'ECONNREFUSED')
    return `stemmad: ${message}\nNothing answers at this address; if it is that of the database, check DATABASE_URL or --database-url`
  if (code !== undefined) return `stemmad: ${message || code}`
  return stack ?? String(error)
}

/** Node tries all addresses of a host. If all fail, the message is empty, and each address has an error of its own. */
const messageOf = (error: unknown): string =>
  error instanceof AggregateError && error.message === ''
    ? error.errors.map(messageOf).join('; ')
    : (error as Error).message

function help(): string {
  const all = Object.values(helpTexts)
  const width = Math.max(...all.map(({ usage }) => usage.length))
  const lines = all.map(({ usage, summary }) => `  ${usage.padEnd(width)}  ${summary}`)
  return `stemmad runs and administers a Stemma server.

Usage: stemmad COMMAND

${lines.join('\n')}

stemmad COMMAND --help describes a command.

${settingsHelp()}`
}

const commandHelp = ({ usage, summary, details }: HelpText) =>
  `Usage: stemmad ${usage}\n\n${summary}\n${details ? `${details}\n` : ''}\n${settingsHelp()}`

function settingsHelp(): string {
  const rows = Object.values(settings).map(({ variable, flag, about, defaultText }) => {
    const name = `${variable}, --${flag}`
    return `  ${name.padEnd(settingWidth)} ${about}${defaultText === '' ? '' : ` (${defaultText})`}`
  })
  return `Settings, as environment variables or flags (defaults in parentheses):\n${rows.join('\n')}`
}

/** Fits the names of most settings. The descriptions of the others are not aligned. */
const settingWidth = 52
