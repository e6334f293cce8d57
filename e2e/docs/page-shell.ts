// A shell that runs the code blocks of a documentation page in order, in a folder like a fresh clone.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { freePort } from '../../api/testing/free-port.ts'
import { remove, temporaryFolder } from '../server/stemmad.ts'
import { inBackground } from './pages.ts'

const root = join(import.meta.dirname, '../..')
/** The time limit for a block, or for each command of a console block. */
const timeoutMs = 60_000

const missingTool = ['bash', 'curl'].find((tool) => spawnSync(tool, ['--version']).error)
/** The reason why pages cannot run on this machine, if there is one. */
export const noShell = missingTool === undefined ? undefined : `${missingTool} is not installed`

export type Outcome = {
  /** Whether every command succeeded. */
  isSuccess: boolean
  output: string
  /** For each call by curl, the HTTP status, or `curl ended with` and the exit code. */
  answers: string[]
}

/** A server by its data folder and port. */
export type Server = { dataFolder: string; port: number }

export type Shell = {
  /** The server that a command of the shell starts, or the one that was passed to `openShell`. */
  server: Server
  /** `line` is the number of the first line of the source in the page, for error messages. */
  run(source: string, line: number): Promise<Outcome>
  close(): Promise<void>
}

type Options = {
  databaseUrl?: string | undefined
  server?: Server | undefined
  /** The program that `npx @stemma/cli` runs. Default: the launcher of the repository. */
  cli?: string | undefined
}

/**
 * The shell replaces database URLs at db.example.com by `databaseUrl`, and the ports 8080 to 8089 by free ports. If
 * `server` is given, 8080 becomes its port, and the shell uses its data folder.
 */
export async function openShell(page: string, { databaseUrl, server, cli }: Options = {}): Promise<Shell> {
  const folder = await temporaryFolder()
  const [home, state] = [join(folder, 'stemma'), join(folder, 'state')]
  await mkdir(state)
  const programs = await linkPrograms(folder, home)
  const dataFolder = join(home, 'data')
  if (server) await symlink(server.dataFolder, dataFolder)
  const mainPort = server?.port ?? (await freePort())
  const ports = new Map([['8080', mainPort]])
  for (const port of new Set(page.match(/\b808[1-9]\b/g))) ports.set(port, await freePort())
  const adapt = (source: string) =>
    source
      .replace(/\b808\d\b/g, (port) => String(ports.get(port) ?? port))
      .replace(/postgres:\/\/[^\s'"]*@db\.example\.com[^\s'"]*/g, databaseUrl ?? '$&')

  const child = spawn('bash', ['--noprofile', '--norc', join(import.meta.dirname, 'page-shell.sh')], {
    cwd: home,
    env: {
      PATH: `${programs}:${process.env.PATH}`,
      HOME: home,
      PAGE_STATE: state,
      PAGE_NODE: process.execPath,
      PAGE_CLI: cli ?? join(root, 'cli/bin/stemma.mjs'),
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
      PORT: String(mainPort),
      STEMMA_API: `http://localhost:${mainPort}`,
      STEMMA_DRAIN_DELAY: '0',
      // Nothing is downloaded.
      npm_config_offline: 'true',
      npm_config_update_notifier: 'false',
    },
    stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'],
    detached: true,
  })
  const [blockFiles, completions] = [child.stdio[3] as Writable, child.stdio[4] as Readable]
  blockFiles.on('error', () => {}) // the shell may have ended
  const ended = once(child, 'exit').then(() => false)
  let blockCount = 0

  return {
    server: { dataFolder, port: mainPort },
    async run(source, line) {
      const file = join(state, `block-${blockCount++}`)
      // Empty lines first, so that error messages have the line numbers of the page.
      await writeFile(file, `${'\n'.repeat(line - 1)}${inBackground(adapt(source))}\n`)
      blockFiles.write(`${file}\n`)
      const timer = setTimeout(() => killGroup(child.pid ?? 0), timeoutMs)
      const isSuccess = await Promise.race([once(completions, 'data').then(() => true), ended])
      clearTimeout(timer)
      return {
        isSuccess,
        output: await readFile(`${file}.output`, 'utf8'),
        answers: await takeAnswers(state),
      }
    },
    async close() {
      for (const file of (await readdir(state)).filter((name) => name.endsWith('.pid')))
        killGroup(Number(await readFile(join(state, file), 'utf8')))
      if (child.exitCode === null && child.signalCode === null) killGroup(child.pid ?? 0)
      await ended
      await remove(folder)
    },
  }
}

/** Returns the results that calls by curl have recorded in files, and deletes these files. */
async function takeAnswers(state: string): Promise<string[]> {
  const files = (await readdir(state)).filter((name) => name.startsWith('call.'))
  return Promise.all(
    files.map(async (name) => {
      const head = await readFile(join(state, name), 'utf8')
      await rm(join(state, name))
      return /^curl ended .*$/m.exec(head)?.[0] ?? [...head.matchAll(/^HTTP\/\S+ (\d+)/gm)].at(-1)?.[1] ?? ''
    }),
  )
}

/**
 * Links everything of this repository into `home`, except its data. Returns the folder of the programs that are on the
 * PATH.
 */
async function linkPrograms(folder: string, home: string): Promise<string> {
  await mkdir(home)
  const notLinked = ['data', '.git']
  for (const name of await readdir(root)) {
    if (!notLinked.includes(name)) await symlink(join(root, name), join(home, name))
  }
  // The credential helper is on the PATH, as after a global installation: registry clients start it by its name.
  const programs = join(folder, 'bin')
  await mkdir(programs)
  const helper = join(root, 'cli/bin/stemma.mjs')
  await symlink(helper, join(programs, 'docker-credential-stemma'))
  return programs
}

function killGroup(pid: number): void {
  // 0 is the group of the test runner itself. An empty pid file is read as 0.
  if (pid <= 0) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has ended already.
  }
}
