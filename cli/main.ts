// The client. It speaks the public API and has no privileges. What a command does not need is not loaded for it.
import { oneLine } from './one-line.ts'
import manifest from './package.json' with { type: 'json' }
import { Failure } from './usage.ts'

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
  if (first === 'auth') return (await import('./auth/auth.ts')).runAuth(args, env)
  if (first === 'completion' || first === '__complete') {
    const { completionScript, completions } = await import('./completion/run.ts')
    return print(first === 'completion' ? completionScript(args) : await completions(args, env))
  }
  const words = ['--help', '-h'].includes(first)
    ? []
    : first === 'help'
      ? args
      : wordsOfHelp([first, ...args])
  if (words) return print(`${(await import('./help/help.ts')).helpOf(words)}\n`)
  await (await import('./resources/run.ts')).runResource(first, args, env)
}

/** What help is asked for, if it is: before `--`, which ends the flags. */
function wordsOfHelp(args: string[]): string[] | undefined {
  const end = args.indexOf('--')
  const isAsked = (end < 0 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h')
  return isAsked ? args.filter((arg) => !arg.startsWith('-')) : undefined
}

function print(text: string): void {
  process.stdout.write(text)
}
