// Which statements are sent before PostgreSQL has answered the ones before them. A proxy sees what the store sends, can
// change it, and can hold back the answers.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Database } from '../../testing/postgres.ts'
import { createDatabase } from '../../testing/postgres.ts'
import type { Store } from '../db.ts'
import { raw, sql } from '../sql.ts'
import { together } from '../together.ts'
import type { Work } from '../work.ts'
import { all } from '../work.ts'
import { openPostgres } from './postgres.ts'

const clusterUrl = process.env.STEMMA_TEST_POSTGRES ?? ''
const skip = clusterUrl === '' && 'PostgreSQL is not running: STEMMA_TEST_POSTGRES is not set'

describe('a transaction on PostgreSQL', { skip }, () => {
  let database: Database
  let proxy: Proxy
  let store: Store
  before(async () => {
    database = await createDatabase(clusterUrl)
    proxy = await openProxy(database.url)
    store = openPostgres({ url: proxy.url, connections: 1, readTimeoutMs: 15_000 })
    await store.query(raw('create table notes (text text primary key)'))
  })
  after(async () => {
    await store.close()
    proxy.close()
    await database.drop()
  })

  function* notes(): Work<unknown[]> {
    return (yield sql`select text from notes order by text`).map(([text]) => text)
  }
  const insert = (text: string) => () => all(sql`insert into notes values (${text})`)

  test('sends its first query together with `begin`', async () => {
    const answers = proxy.holdAnswers()
    const ended = proxy.hasSent('commit')
    const reading = store.read(notes)
    await proxy.hasSent('select text from notes')
    answers.release()
    assert.deepEqual(await reading, [])
    await ended
  })

  test('sends the statements of works that run together before the first of them is answered', async () => {
    let answers: ReturnType<Proxy['holdAnswers']> | undefined
    const writing = store.write(function* () {
      yield* notes()
      answers = proxy.holdAnswers()
      yield* together(insert('first')(), insert('second')())
    })
    await proxy.hasSent('second')
    answers?.release()
    await writing
    await store.write(() => all(sql`delete from notes`))
  })

  test('that only reads returns before PostgreSQL has answered `commit`', async () => {
    const held = proxy.hasSent('commit').then(() => proxy.holdAnswers())
    assert.deepEqual(await store.read(notes), [])
    const answers = await held
    const writing = store.write(insert('after a read'))
    answers.release()
    await writing
    assert.deepEqual(await store.read(notes), ['after a read'])
  })

  test('changes nothing and reads nothing if `begin` fails', async () => {
    await store.write(insert('before'))
    proxy.replace('begin isolation', 'bogus isolation')
    await assert.rejects(store.write(insert('outside of a transaction')), /syntax error/)
    let wasRead = false
    const read = async () =>
      store.read(function* () {
        yield* notes()
        wasRead = true
      })
    await assert.rejects(read, /syntax error/)
    assert.ok(!wasRead)
    proxy.replace('', '')
    assert.deepEqual(await store.read(notes), ['after a read', 'before'])
  })

  test('runs again if the connection is still in a read whose `commit` has failed', async () => {
    const next = [
      () => store.read(notes),
      () => store.query(sql`select text from notes`),
      () => store.write(insert('after a failed commit')),
    ]
    for (const run of next) {
      const { replaced } = proxy.replace('commit', 'bogus!')
      await store.read(notes)
      await replaced
      proxy.replace('', '')
      await run()
    }
    assert.deepEqual(await store.read(notes), ['after a failed commit', 'after a read', 'before'])
  })
})

type Proxy = Awaited<ReturnType<typeof openProxy>>

/** `url` is that of a database. */
async function openProxy(url: string) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const waiting = new Map<string, () => void>()
  let [from, to] = ['', '']
  let released = Promise.resolve()

  const server = createServer((client) => {
    const database = connect(Number(port), hostname)
    let forwarded = Promise.resolve()
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    client.on('close', () => database.destroy())
    database.on('close', () => client.destroy())
    client.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      database.write(Buffer.from(from === '' ? text : text.replaceAll(from, to), 'latin1'))
      for (const [wanted, resolve] of waiting) if (text.includes(wanted)) resolve()
    })
    database.on('data', (bytes) => {
      forwarded = Promise.all([forwarded, released]).then(() => void client.write(bytes))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  /** Resolves when a store sends this text. */
  const hasSent = (text: string) =>
    new Promise<void>((resolve) =>
      waiting.set(text, () => {
        waiting.delete(text)
        resolve()
      }),
    )

  const proxied = new URL(url)
  proxied.port = String((server.address() as AddressInfo).port)
  return {
    url: proxied.href,
    hasSent,
    /** Forwards no answer of PostgreSQL until `release` is called. */
    holdAnswers() {
      const { promise, resolve } = Promise.withResolvers<void>()
      released = promise
      return { release: resolve }
    },
    /**
     * Replaces text of the same length in everything that stores send. An empty text replaces nothing. `replaced`
     * resolves when the text was replaced.
     */
    replace(text: string, replacement: string) {
      ;[from, to] = [text, replacement]
      return { replaced: hasSent(text) }
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
