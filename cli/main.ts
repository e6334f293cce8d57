// The client. It speaks the public API and has no privileges.
import { runAuth } from './auth/auth.ts'
import { completionScript, completions } from './completion/run.ts'
import { findResource } from './contract/commands.ts'
import { helpOf } from './help/help.ts'
import { oneLine } from './one-line.ts'
import manifest from './package.json' with { type: 'json' }
import { runResource } from './resources/run.ts'
import { runTree } from './resources/tree-command.ts'
import { Failure, UsageError } from './usage.ts'

// Whoever has read enough (`| head`) is no fault of anybody.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

try {
  await run(process.argv.slice(2), process.env)
} catch (error) {
  const { message, stack = message } = error as Error
  const isTold = error instanceof Failure || (error as NodeJS.ErrnoException).syscall !== undefined
  // A full disk and the like are told as the system tells them; only what is our fault needs its stack.
  const lines = isTold
    ? [oneLine(message), ...(error instanceof Failure ? error.more : []).map(oneLine)]
    : [stack]
  process.stderr.write(`stemma: ${lines.join('\n')}\n`)
  process.exitCode = error instanceof Failure ? error.exitCode : 1
}

async function run([first = '--help', ...args]: string[], env: NodeJS.ProcessEnv): Promise<void> {
  if (first === '--version' || first === '-v') return print(`${manifest.version}\n`)
  if (first === 'help') return print(`${helpOf(args)}\n`)
  if (['--help', '-h'].includes(first)) return print(`${helpOf([])}\n`)
  if (first === 'auth') return runAuth(args, env)
  if (first === 'completion') return print(completionScript(args.find((arg) => !arg.startsWith('-'))))
  if (first === '__complete') return print(await completions(args, env))
  const resource = findResource(first)
  if (!resource) throw new UsageError(`stemma has no command ${JSON.stringify(first)}; see stemma --help`)
  // What can do only one thing needs not be told to: `stemma ping`.
  const [only] = resource.commands
  const [verb = '', ...rest] = resource.commands.length === 1 && only ? [only.verb, ...args] : args
  if (verb === '' || verb.startsWith('-') || asksForHelp(rest)) return print(`${helpOf([first, verb])}\n`)
  if (first === 'groups' && verb === 'tree') return runTree(rest, env)
  return runResource(first, verb, rest, env)
}

function asksForHelp(args: string[]): boolean {
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h')
}

function print(text: string): void {
  process.stdout.write(text)
}
