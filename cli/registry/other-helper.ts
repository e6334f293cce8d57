// Calls a credential helper of docker other than Stemma's, such as that of the macOS keychain.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { Failure } from '../failure.ts'

const defaultTimeoutMs = 30_000
/** The name becomes part of the name of a program. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

export async function callHelper(
  name: string,
  command: 'store' | 'erase',
  input: string,
  env: NodeJS.ProcessEnv,
  timeoutMs = defaultTimeoutMs,
): Promise<void> {
  if (!namePattern.test(name))
    throw new Failure(`${JSON.stringify(name)} is not the name of a credential helper`)
  const program = `docker-credential-${name}`
  const child = spawn(program, [command], { stdio: ['pipe', 'pipe', 'inherit'], env, timeout: timeoutMs })
  // Errors of stdin are ignored: a program that cannot be started, or that fails, is reported below.
  child.stdin.on('error', () => undefined).end(input)
  // Programs that the helper has started may keep its output open after the timeout.
  child.once('exit', () => child.killed && child.stdout.destroy())
  const reason = await Promise.all([text(child.stdout), once(child, 'exit')]).then(
    ([output, [code, signal]]) =>
      code === 0 ? undefined : output.trim() || (code === null ? `ended by ${signal}` : `exit code ${code}`),
    (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? 'it is not on the PATH' : error.message),
  )
  if (reason === undefined) return
  const timeout = `it did not end within ${timeoutMs / 1000} seconds`
  throw new Failure(
    `docker is configured to use ${program}, which failed: ${child.killed ? timeout : reason}`,
  )
}
