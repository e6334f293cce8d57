// A real PostgreSQL for tests, on a machine that has only Node and npm.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Client } from 'pg'
import type { Report } from './postgres-supervisor.ts'

export interface Cluster {
  url: string
  stop(): Promise<void>
}

export interface Database {
  url: string
  drop(): Promise<void>
}

/** Starts a new cluster. It is removed by `stop` or when this process exits. */
export async function startCluster({ fsync = false } = {}): Promise<Cluster> {
  const supervisor = fork(new URL('./postgres-supervisor.ts', import.meta.url), fsync ? ['--fsync'] : [], {
    // Ctrl-C then reaches only this process. The supervisor shuts the cluster down when this process has exited.
    detached: true,
    // Do not inherit flags of this process such as --test.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(supervisor, 'exit')
  const report: Report = await Promise.race([
    once(supervisor, 'message').then(([message]) => message),
    exited.then(([code]) => ({ failure: `the process that runs PostgreSQL exited with code ${code}` })),
  ])
  if ('failure' in report) throw new Error(report.failure)

  supervisor.unref()
  supervisor.channel?.unref()
  return {
    url: report.url,
    async stop() {
      supervisor.ref()
      if (supervisor.connected) supervisor.disconnect()
      await exited
    },
  }
}

/**
 * A new database in the cluster: a copy of `template`, or an empty one. The strategy `file_copy` takes 17 ms of CPU time,
 * and the default, which writes each page to the WAL, takes 57 ms.
 */
export async function createDatabase(clusterUrl: string, template = 'template1'): Promise<Database> {
  const name = `stemma_test_${randomBytes(8).toString('hex')}`
  await execute(clusterUrl, `create database ${name} template ${template} strategy file_copy`)
  const url = new URL(clusterUrl)
  url.pathname = name
  return {
    url: url.href,
    drop: () => drop(clusterUrl, name),
  }
}

/**
 * PostgreSQL waits some seconds for connections that are being closed. With `force`, which ends the others, they would
 * report an error.
 */
async function drop(clusterUrl: string, name: string): Promise<void> {
  await execute(clusterUrl, `drop database if exists ${name}`).catch((error: unknown) => {
    if ((error as { code?: string }).code !== objectInUse) throw error
    return execute(clusterUrl, `drop database if exists ${name} with (force)`)
  })
}

const objectInUse = '55006'

/** The type declarations of pg lack these methods. */
type Connection = Client & { ref(): void; unref(): void }

/** The connections over which this process creates and drops databases, by URL, with the number of their statements. */
const connections = new Map<string, { client: Promise<Connection>; running: number }>()

/** A connection takes 15 ms of CPU time, so it stays open. It keeps the process running only during a statement. */
async function execute(url: string, statement: string): Promise<void> {
  const connection = connections.get(url) ?? { client: connect(url), running: 0 }
  connections.set(url, connection)
  connection.running++
  const client = await connection.client
  client.ref()
  try {
    await client.query(statement)
  } finally {
    if (--connection.running === 0) client.unref()
  }
}

async function connect(url: string): Promise<Connection> {
  const client = new Client(url) as Connection
  // Without a listener, the end of the cluster would be an uncaught error.
  client.on('error', () => {})
  client.on('end', () => connections.delete(url))
  await client.connect()
  return client
}
