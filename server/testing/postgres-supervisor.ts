// A child process that runs one PostgreSQL cluster and removes it when its parent exits, even if the parent is killed.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../api/testing/free-port.ts'
import { memoryFolderOr } from './memory-folder.ts'
import { installBinaries, publicFolder } from './postgres-binaries.ts'
import { findPostgresUser } from './postgres-user.ts'

/** Sent once to the parent. */
export type Report = { url: string } | { failure: string }

const startAttempts = 5
const stopTimeoutMs = 10_000
/** Whether PostgreSQL syncs each commit to disk, as in production. */
const isDurable = process.argv.includes('--fsync')
const fastSettings = {
  ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
  ...{ wal_level: 'minimal', max_wal_senders: '0' },
}
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: '64MB',
  ...(isDurable ? {} : fastSettings),
}
let home: string | undefined
let server: ChildProcess | undefined
let isStopping = false

process.on('disconnect', stop)
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, stop)

try {
  await report({ url: await start() })
} catch (error) {
  await report({ failure: error instanceof Error ? error.message : String(error) })
  await stop()
}

async function start(): Promise<string> {
  const user = findPostgresUser()
  const bin = join(installBinaries(), 'bin')
  const password = randomBytes(16).toString('hex')
  const folder = isDurable ? publicFolder() : memoryFolderOr(publicFolder())
  home = fs.mkdtempSync(join(folder, 'stemma-cluster-'))
  const data = join(home, 'data')
  const passwordFile = join(home, 'password')
  fs.writeFileSync(passwordFile, password)
  if (user) for (const path of [home, passwordFile]) fs.chownSync(path, user.uid, user.gid)

  const spawnOptions = { ...user, cwd: home, env: { ...process.env, LC_ALL: 'C' } }
  const initFlags = ['--username=stemma', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--no-sync']
  // Few iterations make the many connections of the tests cheap. The password is random, so it cannot be guessed.
  const iterations = ['--set=scram_iterations=1']
  // Sorts by bytes, independent of the locales of the machine.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const initdb = spawnSync(join(bin, 'initdb'), ['-D', data, ...initFlags, ...iterations, ...locale], {
    ...spawnOptions,
    encoding: 'utf8',
  })
  if (initdb.status !== 0) throw new Error(`initdb failed: ${initdb.error?.message ?? initdb.stderr}`)

  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const flags = Object.entries({ ...settings, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    server = spawn(join(bin, 'postgres'), ['-D', data, ...flags], {
      ...spawnOptions,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const failure = await waitUntilReady(server)
    if (failure === undefined) return `postgres://stemma:${password}@127.0.0.1:${port}/postgres`
    const isPortTaken = failure.includes('Address already in use')
    if (!isPortTaken || isStopping || attempt === startAttempts)
      throw new Error(`postgres failed: ${failure}`)
  }
}

/** Resolves to undefined when the server accepts connections, or to the end of its log if it exits before. */
function waitUntilReady(starting: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    let log = ''
    // Keep reading after the start: a full pipe would block the server.
    starting.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = `${log}${text}`.slice(-4000)
      if (log.includes('ready to accept connections')) resolve(undefined)
    })
    starting.on('error', (error) => resolve(error.message))
    starting.on('close', () => resolve(log))
  })
}

async function stop(): Promise<void> {
  if (isStopping) return
  isStopping = true
  if (server?.pid && server.exitCode === null && server.signalCode === null) {
    server.kill('SIGINT') // PostgreSQL's fast shutdown
    setTimeout(() => server?.kill('SIGKILL'), stopTimeoutMs)
    await once(server, 'exit')
  }
  if (home) fs.rmSync(home, { recursive: true, force: true, maxRetries: 10 })
  process.exit()
}

async function report(message: Report): Promise<void> {
  if (process.connected) await new Promise((sent) => process.send?.(message, sent))
}
