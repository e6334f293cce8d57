// The commands of `stemma`. Modules are imported when a command needs them, to start quickly.
import { Exit, Failure } from './failure.ts'
import manifest from './package.json' with { type: 'json' }
import type { Runtime } from './runtime.ts'
import { report } from './runtime.ts'
import { singleLine } from './single-line.ts'

/** Runs a command and returns its exit code. */
export async function runStemma(args: string[], runtime: Runtime): Promise<number> {
  try {
    await run(args, runtime)
    return 0
  } catch (error) {
    if (error instanceof Exit) return error.exitCode
    report(runtime, `stemma: ${linesOf(error as Error).join('\n')}`)
    return error instanceof Failure ? error.exitCode : 1
  }
}

/** Errors of the system, such as a full disk, are reported by their message; only a bug is reported with its stack. */
function linesOf(error: Error): string[] {
  if (error instanceof Failure) return [error.message, ...error.details].map(singleLine)
  const isSystemError = (error as NodeJS.ErrnoException).syscall !== undefined
  return [isSystemError ? singleLine(error.message) : (error.stack ?? error.message)]
}

async function run([first = '--help', ...args]: string[], runtime: Runtime): Promise<void> {
  const print = (text: string) => void runtime.stdout.write(text)
  if (first === '--version' || first === '-v') return print(`${manifest.version}\n`)
  if (first === 'auth') return (await import('./auth/auth.ts')).runAuth(args, runtime)
  if (first === 'registry') return (await import('./registry/registry.ts')).runRegistry(args, runtime)
  if (first === 'completion' || first === '__complete') {
    const { completionScript, completions } = await import('./completion/completion.ts')
    return print(first === 'completion' ? completionScript(args) : await completions(args, runtime))
  }
  const topic = helpTopic([first, ...args])
  if (topic) return print(`${(await import('./help/help.ts')).helpOf(topic)}\n`)
  await (await import('./resources/run.ts')).runResource(first, args, runtime)
}

/** The words of the command that help was requested for, or undefined. Words after `--` are not flags. */
function helpTopic(args: string[]): string[] | undefined {
  const [first = '', ...topic] = args
  if (['--help', '-h'].includes(first)) return []
  if (first === 'help') return topic
  const separator = args.indexOf('--')
  const argsBeforeSeparator = separator < 0 ? args : args.slice(0, separator)
  const isRequested = argsBeforeSeparator.some((arg) => arg === '--help' || arg === '-h')
  return isRequested ? args.filter((arg) => !arg.startsWith('-')) : undefined
}
