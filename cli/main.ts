// The client. It speaks the public API and has no privileges.
import { runAuth } from './auth/auth.ts'
import { authHelp } from './auth/help.ts'
import { oneLine } from './one-line.ts'
import manifest from './package.json' with { type: 'json' }
import { NotSignedIn, Refused, UsageError } from './usage.ts'

const help = `stemma ${manifest.version}: the client of a Stemma server

${authHelp}

Commands for groups, identities and the rest come with later releases; until then use curl with the token.
Exit codes: 0 done, 1 refused by the server, 2 wrong usage, 3 not signed in.`

const [command = '--help', ...args] = process.argv.slice(2)

try {
  if (command === '--version' || command === '-v') process.stdout.write(`${manifest.version}\n`)
  else if (['--help', '-h', 'help'].includes(command)) process.stdout.write(`${help}\n`)
  else if (command === 'auth') await runAuth(args, process.env)
  else throw new UsageError(`stemma has no command ${JSON.stringify(command)} yet; see stemma --help`)
} catch (error) {
  const code = exitCodeOf(error)
  const { message, stack = message } = error as Error
  process.stderr.write(`stemma: ${code === undefined ? stack : oneLine(message)}\n`)
  process.exitCode = code ?? 1
}

function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof UsageError) return 2
  if (error instanceof NotSignedIn) return 3
  // A full disk and the like are told as the system tells them; only what is our fault needs its stack.
  return error instanceof Refused || (error as NodeJS.ErrnoException).syscall !== undefined ? 1 : undefined
}
