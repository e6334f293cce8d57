// Starts the real server as a child process, for tests that kill it.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { serverProgram } from '../../server/bin/program.mjs'

/** Starts the server. Resolves when it has printed its address. */
export async function spawnServer(
  settings: readonly string[],
): Promise<{ server: ChildProcess; url: string }> {
  const server = spawnNode([serverProgram(), 'serve', ...settings])
  const greeting = await untilPrinted(server, /on 127\.0\.0\.1:(\d+)/)
  return { server, url: `http://127.0.0.1:${greeting[1]}` }
}

export const spawnNode = (args: readonly string[]): ChildProcess =>
  spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })

export async function untilPrinted(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let output = ''
  for await (const chunk of child.stdout ?? []) {
    output += chunk
    const match = pattern.exec(output)
    if (match) return match
  }
  throw new Error(`the process did not start: ${output}`)
}
