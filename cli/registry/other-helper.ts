// Calls a credential helper of docker other than Stemma's, such as that of the macOS keychain.
import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
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
  const child = spawn(program, [command], { stdio: ['pipe', 'pipe', 'inherit'], env })
  // Errors of stdin are ignored: a program that cannot be started, or that fails, is reported below.
  child.stdin.on('error', () => undefined).end(input)
  let hasTimedOut = false
  const timer = setTimeout(() => {
    hasTimedOut = true
    child.kill('SIGKILL')
    // Programs that the helper has started may keep its output open.
    child.stdout.destroy()
  }, timeoutMs)
  try {
    const reason = await failureOf(child)
    const timeout = `it did not end within ${timeoutMs / 1000} seconds`
    if (reason !== undefined)
      throw new Failure(
        `docker is configured to use ${program}, which failed: ${hasTimedOut ? timeout : reason}`,
      )
  } finally {
    clearTimeout(timer)
    child.stdout.destroy()
  }
}

/**
 * Why a helper failed; undefined if it succeeded. The output of a helper that succeeded is not awaited: programs that it
 * has started may keep it open.
 */
async function failureOf(child: ChildProcessByStdio<Writable, Readable, null>): Promise<string | undefined> {
  const output = text(child.stdout).catch(() => '')
  try {
    const [code, signal] = await once(child, 'exit')
    if (code === 0) return undefined
    return (await output).trim() || (code === null ? `ended by ${signal}` : `exit code ${code}`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? 'it is not on the PATH' : message
  }
}
