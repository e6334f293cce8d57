// Runs `stemma` in a pseudo-terminal and types answers.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { bundledProgram } from './bundled-program.ts'

// Node has no pseudo-terminals; `script` of util-linux provides one.
const { stdout: version } = spawnSync('script', ['--version'], { encoding: 'utf8' })
/** The reason why these tests cannot run on this machine, or false. */
export const noTerminalReason = /util-linux/.test(version ?? '')
  ? false
  : 'a pseudo-terminal needs the command script of util-linux'

export type TerminalResult = { code: number; screen: string }

/** Runs `stemma`, and types the keys of `answer` when the screen shows the question. */
export async function atTerminal(
  args: string[],
  env: NodeJS.ProcessEnv,
  answer?: { question: RegExp; keys: string },
): Promise<TerminalResult> {
  const line = [process.execPath, await bundledProgram(), ...args]
    .map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
    .join(' ')
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    env: { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let screen = ''
  let isAnswered = false
  child.stdout.on('data', (chunk) => {
    screen += chunk
    if (!answer || isAnswered || !answer.question.test(screen)) return
    isAnswered = true
    child.stdin.write(answer.keys)
  })
  const [code] = await once(child, 'close')
  child.stdin.destroy()
  return { code, screen: screen.replaceAll('\r\n', '\n') }
}
