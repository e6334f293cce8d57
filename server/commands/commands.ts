// What stemmad can do, and what it says when asked.
import { ConfigError } from '../config/config.ts'
import { settings } from '../config/settings.ts'
import { backup } from './backup.ts'
import { bootstrap } from './bootstrap.ts'
import { check } from './check.ts'
import type { Command } from './command.ts'
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

export async function runCommand([name = 'help', ...args]: string[]): Promise<number> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) {
    const isAsked = ['help', '--help', '-h'].includes(name)
    const words = isAsked ? help() : `stemmad has no command ${JSON.stringify(name)}\n\n${help()}`
    ;(isAsked ? process.stdout : process.stderr).write(`${words}\n`)
    return isAsked ? 0 : 2
  }
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`Usage: stemmad ${command.usage}\n\n${command.about}\n\n${settingsHelp()}\n`)
    return 0
  }
  try {
    return await command.run(args)
  } catch (error) {
    const isTheirs = error instanceof ConfigError || error instanceof UsageError
    process.stderr.write(`${isTheirs ? error.message : explain(error)}\n`)
    return isTheirs ? 2 : 1
  }
}

/** Faults of the deps that need no stack: the port is taken, the database does not answer. */
function explain(error: unknown): string {
  const { code, message, stack } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return `${message}\nAnother program listens there; choose another port with PORT=… or --port`
  if (code !== undefined) return `stemmad: ${message || code}`
  return stack ?? String(error)
}

function help(): string {
  const width = Math.max(...Object.values(commands).map(({ usage }) => usage.length))
  const lines = Object.values(commands).map(
    ({ usage, about }) => `  stemmad ${usage.padEnd(width)}  ${about.split('\n')[0]}`,
  )
  return `stemmad runs and administers a Stemma server.\n\n${lines.join('\n')}\n\n${settingsHelp()}`
}

function settingsHelp(): string {
  const rows = Object.values(settings).map(({ variable, flag, about, fallback }) => {
    const name = `${variable}, --${flag}`
    return `  ${name.padEnd(56)} ${about}${fallback === '' ? '' : ` (${fallback})`}`
  })
  return `Settings, from the environment or as flags:\n${rows.join('\n')}`
}
