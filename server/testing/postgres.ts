// A real PostgreSQL for tests, on a machine that has only Node and npm.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Client } from 'pg'
import type { Report } from './postgres-keeper.ts'

export interface Cluster {
  url: string
  stop(): Promise<void>
}

export interface Database {
  url: string
  drop(): Promise<void>
}

/** Starts a fresh cluster that ends with `stop` or with this process, whichever comes first. */
export async function startCluster({ fsync = false } = {}): Promise<Cluster> {
  const keeper = fork(new URL('./postgres-keeper.ts', import.meta.url), fsync ? ['--fsync'] : [], {
    // Away from the terminal, whose Ctrl-C is meant for this process; the keeper then stops in good order.
    detached: true,
    // Not those of this process, such as --test.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(keeper, 'exit')
  const report: Report = await Promise.race([
    once(keeper, 'message').then(([message]) => message),
    exited.then(([code]) => ({ failure: `its keeper ended with ${code}` })),
  ])
  if ('failure' in report) throw new Error(report.failure)

  keeper.unref()
  keeper.channel?.unref()
  return {
    url: report.url,
    async stop() {
      keeper.ref()
      if (keeper.connected) keeper.disconnect()
      await exited
    },
  }
}

/** An empty database of its own for a test. */
export async function createDatabase(clusterUrl: string): Promise<Database> {
  const name = `stemma_test_${randomBytes(8).toString('hex')}`
  await execute(clusterUrl, `create database ${name}`)
  const url = new URL(clusterUrl)
  url.pathname = name
  return {
    url: url.href,
    drop: () => execute(clusterUrl, `drop database if exists ${name} with (force)`),
  }
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
