import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { describe, test } from 'node:test'
import { doorsOfSuite } from '../../testing/doors-of-suite.ts'
import type { TestDoor } from '../../testing/test-door.ts'

const groups = '/iam/v2beta1/groups'
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const post = (body: string) =>
  `POST ${groups} HTTP/1.1\r\nHost: a\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
const chunked = (...chunks: string[]) =>
  `POST ${groups} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${[...chunks, '']
    .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    .join('')}`

describe('the pace of a connection', () => {
  const { closers, openDoor, connect } = doorsOfSuite()

  /** A door whose calls wait until the test calls their functions in `releases`. */
  async function openWaitingDoor(isTls = false) {
    const releases: (() => void)[] = []
    const act = () =>
      new Promise<void>((resolve) => {
        releases.push(resolve)
      })
    const door = await openDoor({ act, isTls })
    return { door, releases }
  }

  /** Waits until another client has received responses. By then, everything that was sent before has arrived. */
  async function settle(door: TestDoor, isTls = false): Promise<void> {
    const client = await connect(door, isTls)
    for (let times = 0; times < 5; times++) {
      client.send(get('/healthz'))
      assert.equal((await client.response()).status, 200)
    }
    client.close()
  }

  for (const isTls of [false, true]) {
    describe(`pipelined requests ${isTls ? 'under TLS' : 'without TLS'}`, () => {
      test('start one after the other, each after the response to the one before', async () => {
        const { door, releases } = await openWaitingDoor(isTls)
        const client = await connect(door, isTls)
        client.send(get(groups).repeat(50))
        for (let started = 1; started <= 50; started++) {
          await settle(door, isTls)
          assert.equal(releases.length, started)
          releases.at(-1)?.()
          assert.equal((await client.response()).status, 200)
        }
      })

      test('start one after the other, even if the connection was used without pipelining before', async () => {
        const { door, releases } = await openWaitingDoor(isTls)
        const client = await connect(door, isTls)
        for (let times = 0; times < 2; times++) {
          client.send(get(groups))
          await settle(door, isTls)
          releases.at(-1)?.()
          assert.equal((await client.response()).status, 200)
        }
        // Pacing begins with the second of these requests, so requests that were read together with it may start at once.
        client.send(get(groups).repeat(3))
        await settle(door, isTls)
        const startedSoFar = releases.length
        assert.ok(startedSoFar <= 5)
        client.send(get(groups).repeat(50))
        await settle(door, isTls)
        assert.equal(releases.length, startedSoFar)
        for (let answered = 2; answered < 55; answered++) {
          while (releases.length <= answered) await settle(door, isTls)
          releases[answered]?.()
          assert.equal((await client.response()).status, 200)
        }
      })

      test('start one after the other, even if a packet ends inside the blank line after a head', async () => {
        const { door, releases } = await openWaitingDoor(isTls)
        const client = await connect(door, isTls)
        let answered = 0
        const answerNext = async () => {
          while (releases.length === answered) await settle(door, isTls)
          await settle(door, isTls)
          assert.equal(releases.length, answered + 1)
          releases[answered++]?.()
          assert.equal((await client.response()).status, 200)
        }
        client.send(get(groups).repeat(2))
        for (let times = 0; times < 2; times++) await answerNext()
        const request = post(`{"name":${' '.repeat(5000)}\r\n\r\n"a"}`)
        const headEnd = request.indexOf('{')
        for (const cut of [1, 2, 3]) {
          client.send(request.slice(0, headEnd - cut))
          await settle(door, isTls)
          client.send(request.slice(headEnd - cut) + get(groups).repeat(20))
          for (let times = 0; times < 21; times++) await answerNext()
        }
      })

      test('keep their bodies, wherever the bytes are split into packets', async () => {
        const bodies = [
          '{"name":"a"}',
          '{\r\n\r\n"name"\r\n\r\n:\r\n\r\n"b"}',
          `{"name":"${'c'.repeat(500)}"}`,
        ]
        const bytes = [
          ...bodies.flatMap((body) => [post(body), chunked(body), chunked(body.slice(0, 7), body.slice(7))]),
          get(groups),
        ].join('')
        const receivedNames = async (packetSize: (length: number) => number) => {
          const names: unknown[] = []
          const act = ({ request }: { request: unknown }) =>
            void names.push((request as { group?: { name: string } }).group?.name ?? 'none')
          const client = await connect(await openDoor({ act, isTls }), isTls)
          const answered = (async () => {
            for (let times = 0; times < bodies.length * 3 + 1; times++)
              assert.equal((await client.response()).status, 200)
          })()
          for (let at = 0; at < bytes.length; ) {
            const size = packetSize(bytes.length)
            client.send(bytes.slice(at, at + size))
            at += size
            await new Promise((resolve) => setImmediate(resolve))
          }
          await answered
          // A request that arrives together with the end of a chunked body may start before the request with that body.
          return names.sort()
        }
        const expected = [...['a', 'b', 'c'.repeat(500)].flatMap((name) => [name, name, name]), 'none'].sort()
        let seed = 1
        const random = () => {
          seed = (seed * 48271) % 0x7fffffff
          return seed
        }
        assert.deepEqual(await receivedNames((length) => length), expected)
        for (let round = 0; round < 20; round++)
          assert.deepEqual(await receivedNames(() => 1 + (random() % 300)), expected)
      })
    })
  }

  test('a client with too many unanswered requests is disconnected, and its address is slowed down', async () => {
    const timeoutsMs = { penaltyPause: 3_600_000 }
    const calls: string[] = []
    const door = await openDoor({ timeoutsMs, act: ({ method }) => calls.push(method) })
    const client = await connect(door)
    client.send(get(groups))
    await client.response()
    client.send(get(groups).repeat(1500))
    await new Promise((resolve) => client.socket.once('close', resolve))
    assert.ok(calls.length <= 102, `${calls.length} calls`)
    assert.equal(door.rejected.length, 1)
    // Connections of other addresses are served, and those of this one are not.
    const slowed = await connect(door)
    slowed.send(get('/healthz'))
    const other = connectSocket({ port: door.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    closers.push(() => other.destroy())
    other.write(get('/healthz'))
    const [answer] = (await once(other, 'data')) as [Buffer]
    assert.match(answer.toString(), /^HTTP\/1\.1 200/)
    assert.equal(slowed.socket.bytesRead, 0)
  })

  test('a connection with a thousand refusals in a row is closed after the next response', async () => {
    const door = await openDoor()
    const client = await connect(door)
    client.send(get('/nowhere').repeat(1500))
    for (let times = 0; times < 1000; times++)
      assert.notEqual((await client.response()).headers.get('connection'), 'close')
    assert.equal((await client.response()).headers.get('connection'), 'close')
    assert.equal((await client.remainingBytes()).length, 0)
  })

  for (const [what, headers, isSlowedDown] of [
    ['a program', '', true],
    ['a page of our own', 'Sec-Fetch-Site: same-origin\r\n', true],
    ['a page of another site', 'Sec-Fetch-Site: cross-site\r\n', false],
    ['a page of a sibling host', 'Sec-Fetch-Site: same-site\r\n', false],
  ] as const) {
    const outcome = isSlowedDown ? 'is slowed down' : 'is not slowed down'
    test(`after 1000 refused requests, one of them from ${what}, the network ${outcome}`, async () => {
      const door = await openDoor({ timeoutsMs: { penaltyPause: 3_600_000 } })
      const client = await connect(door)
      client.send(`GET /nowhere HTTP/1.1\r\nHost: a\r\n${headers}\r\n${get('/nowhere').repeat(1000)}`)
      for (let times = 0; times < 1001; times++) await client.response()
      assert.equal((await client.remainingBytes()).length, 0)
      const next = await connect(door)
      next.send(get('/healthz'))
      const other = connectSocket({ port: door.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
      closers.push(() => other.destroy())
      for (let times = 0; times < 5; times++) {
        other.write(get('/healthz'))
        await once(other, 'data')
      }
      assert.equal(next.socket.bytesRead === 0, isSlowedDown)
    })
  }

  test('a connection stays open if there are successes between its refusals', async () => {
    const client = await connect(await openDoor())
    client.send((get('/nowhere').repeat(600) + get('/healthz')).repeat(3))
    for (let times = 0; times < 3 * 601; times++)
      assert.notEqual((await client.response()).headers.get('connection'), 'close')
  })
})
