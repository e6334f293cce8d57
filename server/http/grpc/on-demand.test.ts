import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import type { Duplex } from 'node:stream'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { openTestDoor } from '../../testing/test-door.ts'
import { openDoorOnDemand } from './on-demand.ts'
import type { GrpcDoor } from './server.ts'

/** A door that notes what is done to it. Tests decide when it opens, or fails to. */
function scriptedDoor() {
  const events: string[] = []
  const attempts: { open(): void; fail(): void }[] = []
  const opened: GrpcDoor = {
    acceptSocket: (socket) => void events.push(`accept ${names.get(socket)}`),
    setServing: (isServing) => void events.push(isServing ? 'serving' : 'not serving'),
    async drain() {
      events.push('drain')
    },
    destroy: () => void events.push('destroy'),
  }
  const names = new Map<Duplex, string>()
  const door = openDoorOnDemand(
    () =>
      new Promise((resolve, reject) => {
        attempts.push({ open: () => resolve(opened), fail: () => reject(new Error('not loaded')) })
      }),
    { onGrpcFailure: (error) => void events.push(String(error)) },
  )
  const connectAs = (name: string) => {
    const socket = new PassThrough()
    names.set(socket, name)
    door.acceptSocket(socket)
    return socket
  }
  return { door, events, attempts, connectAs }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('the gRPC door', { timeout: 20_000 }, () => {
  test('is opened once, and then gets the connections that have waited', async () => {
    const { door, events, attempts, connectAs } = scriptedDoor()
    door.setServing(false)
    connectAs('first')
    connectAs('closed').destroy()
    connectAs('second')
    assert.equal(attempts.length, 1)
    attempts[0]?.open()
    await settle()
    connectAs('third')
    door.setServing(true)
    assert.deepEqual(events, ['not serving', 'accept first', 'accept second', 'accept third', 'serving'])
    assert.equal(attempts.length, 1)
  })

  test('that cannot be opened reports the failure for each waiting connection and closes it, and is tried again for the next one', async () => {
    const { events, attempts, connectAs } = scriptedDoor()
    const refused = [connectAs('first'), connectAs('second')]
    attempts[0]?.fail()
    await settle()
    assert.deepEqual(
      refused.map(({ destroyed }) => destroyed),
      [true, true],
    )
    connectAs('third')
    attempts[1]?.open()
    await settle()
    const failure = 'Error: not loaded'
    assert.deepEqual(events, [failure, failure, 'serving', 'accept third'])
  })

  test('is drained and destroyed as soon as it is open, if the server stops before', async () => {
    const { door, events, attempts, connectAs } = scriptedDoor()
    connectAs('first')
    await door.drain()
    door.destroy()
    attempts[0]?.open()
    await settle()
    assert.deepEqual(events, ['serving', 'drain', 'destroy'])
  })

  test('serves simultaneous connections, and can be drained and closed without being opened', async () => {
    const unused = await openTestDoor()
    await unused.drain()
    unused.close()
    const door = await openTestDoor()
    const sessions = Array.from({ length: 5 }, () => connect(`http://127.0.0.1:${door.port}`))
    await Promise.all(sessions.map((session) => once(session, 'remoteSettings')))
    for (const session of sessions) session.destroy()
    door.close()
  })
})
