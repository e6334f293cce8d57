// Clients that keep HTTP/2 connections and calls open without using them. The tests set the time of the door
// themselves, and move it forward.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:http2'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { TestDoor } from '../../server/testing/test-door.ts'
import { openTestDoor } from '../../server/testing/test-door.ts'

const minute = 60_000
const getGroup = '/platform.iam.v2beta1.GroupsService/GetGroup'
const healthWatch = '/grpc.health.v1.Health/Watch'
const reflection = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
/** gRPC messages: a flag, four bytes for the length, and the message. */
const emptyMessage = Buffer.alloc(5)
/** Asks reflection for all services: field 7 with the text `*`. */
const listServices = Buffer.from([0, 0, 0, 0, 3, 58, 1, 42])

describe('clients that keep HTTP/2 connections open', () => {
  let door: TestDoor
  let time: number
  let sessions: ClientHttp2Session[]
  beforeEach(async () => {
    sessions = []
    time = Date.now()
    // A call whose reply is not read ends `idle` milliseconds after its deadline. This timeout is
    // measured by the real clock, not by `time`.
    door = await openTestDoor({ now: () => time, timeoutsMs: { idle: 100 } })
  })
  afterEach(() => {
    for (const session of sessions) session.destroy()
    door.close()
  })

  function openSession(settings = {}): ClientHttp2Session {
    const session = connect(`http://127.0.0.1:${door.port}`, { settings })
    session.on('error', () => {})
    sessions.push(session)
    return session
  }

  function startCall(session: ClientHttp2Session, path: string, message?: Buffer): ClientHttp2Stream {
    const stream = session.request({
      ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
    })
    stream.on('error', () => {})
    stream.resume()
    if (message) stream.write(message)
    return stream
  }

  const closed = (opened: ClientHttp2Session | ClientHttp2Stream) =>
    new Promise<void>(
      (resolve) => void (opened.destroyed ? resolve() : opened.once('close', () => resolve())),
    )

  async function completeCall(session: ClientHttp2Session): Promise<void> {
    const stream = startCall(session, getGroup)
    stream.end(emptyMessage)
    await closed(stream)
  }

  test('a connection without open calls is closed after 15 minutes, and one with an open call stays open', async () => {
    const [unused, used, watching] = [openSession(), openSession(), openSession()]
    await Promise.all([once(unused, 'remoteSettings'), completeCall(used)])
    const watch = startCall(watching, healthWatch)
    watch.end(emptyMessage)
    await once(watch, 'data')
    time += 16 * minute
    await Promise.all([closed(unused), closed(used)])
    assert.ok(!watching.destroyed)
    await completeCall(watching)
  })

  test('a health watch ends after an hour', async () => {
    const session = openSession()
    const watch = startCall(session, healthWatch)
    watch.end(emptyMessage)
    await once(watch, 'data')
    time += 61 * minute
    await closed(watch)
    await completeCall(session)
  })

  for (const [what, path, message] of [
    ['a reflection call', reflection, listServices],
    ['a call of our own services', getGroup, emptyMessage],
  ] as const) {
    test(`${what} whose reply is not read ends after the deadline of the call`, async () => {
      const session = openSession({ initialWindowSize: 0 })
      const stream = startCall(session, path)
      stream.end(message)
      await once(stream, 'response')
      time += 2 * minute
      await closed(stream)
      await completeCall(openSession())
    })
  }

  test('a reflection call whose client sends no further message ends after a minute', async () => {
    const session = openSession()
    const stream = startCall(session, reflection, listServices)
    await once(stream, 'data')
    time += 2 * minute
    await closed(stream)
    await completeCall(session)
  })

  test('a connection can have at most 20 open calls of health and reflection, and refused ones do not affect other calls', async () => {
    const session = openSession()
    const watches = Array.from({ length: 20 }, () => startCall(session, healthWatch))
    const excess = startCall(session, healthWatch)
    const statuses = [...watches, excess].map(async (watch) => {
      watch.end(emptyMessage)
      const [headers] = await once(watch, 'response')
      return headers['grpc-status']
    })
    assert.deepEqual(await Promise.all(statuses), [...watches.map(() => undefined), '8'])
    assert.ok(watches.every((watch) => !watch.destroyed))
    const other = startCall(openSession(), healthWatch)
    other.end(emptyMessage)
    await once(other, 'data')
    await completeCall(session)
  })
})
