import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { createServer } from 'node:net'
import { after, describe, test } from 'node:test'
import { freePort } from '../../../api/testing/free-port.ts'
import { malformed } from '../../aip/errors.ts'
import { doorsOfSuite } from '../../testing/doors-of-suite.ts'
import type { RawClient, RawResponse } from '../../testing/raw-http.ts'
import { rawClient } from '../../testing/raw-http.ts'
import type { TestDoor } from '../../testing/test-door.ts'
import { errorDomain, openTestDoor } from '../../testing/test-door.ts'

const get = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: door.test', ...headers, '', ''].join('\r\n')
const post = (path: string, body: string, ...headers: string[]) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: door.test',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
    '',
    body,
  ].join('\r\n')

const groups = '/iam/v2beta1/groups'
const uid = '0123456789012345678901234567890123456789'
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])

describe('a listener', () => {
  const { closers, openDoor, connect } = doorsOfSuite()

  /** Sends each byte in a packet of its own. */
  async function sendByteByByte({ socket }: RawClient, bytes: string): Promise<void> {
    for (const byte of Buffer.from(bytes)) {
      socket.write(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  function assertError(response: RawResponse, status: number, code: number): void {
    assert.equal(response.status, status, response.body)
    assert.match(response.headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,128}$/)
    assert.equal(response.headers.get('content-type'), 'application/json')
    const { code: sent, message, details } = response.json()
    assert.equal(sent, code)
    assert.ok(message)
    assert.equal(details[0]?.['@type'], 'type.googleapis.com/google.rpc.ErrorInfo')
    assert.equal(details[0]?.domain, errorDomain)
  }

  const closed = ({ socket }: RawClient) => new Promise((resolve) => socket.once('close', resolve))

  /** A promise with its resolve function. */
  const deferred = () => Promise.withResolvers<void>()

  for (const isTls of [false, true]) {
    const where = isTls ? 'under TLS' : 'without TLS'

    describe(`first bytes ${where}`, () => {
      test('answers a request that arrives byte by byte', async () => {
        const client = await connect(await openDoor({ isTls }), isTls)
        await sendByteByByte(client, get(`${groups}/${uid}`))
        assert.equal((await client.response()).status, 200)
      })

      test('disconnects a client that sends nothing', async () => {
        const client = await connect(await openDoor({ isTls, timeoutsMs: { firstBytes: 100 } }), isTls)
        assert.equal((await client.remainingBytes()).length, 0)
      })

      test('disconnects a client that sends half of the HTTP/2 preface', async () => {
        const client = await connect(await openDoor({ isTls, timeoutsMs: { firstBytes: 100 } }), isTls)
        client.send('PRI * HTT')
        assert.equal((await client.remainingBytes()).length, 0)
      })

      test('releases the connection of a client that disconnects early', async () => {
        const door = await openDoor({ isTls })
        const clients = await Promise.all(['', 'PR', get('/healthz')].map(() => connect(door, isTls)))
        clients.forEach((client, at) => {
          client.socket.end(['', 'PR', get('/healthz')][at] ?? '')
        })
        await Promise.all(clients.map((client) => client.remainingBytes()))
        // Resolves when no connection is left.
        await door.drain()
      })

      test('treats input as HTTP/1.1 if only its start looks like HTTP/2', async () => {
        const timeoutsMs = { headers: 100, checkInterval: 50 }
        const client = await connect(await openDoor({ isTls, timeoutsMs }), isTls)
        // The HTTP/1.1 parser of Node mistakes the bytes for HTTP/2 and waits for more.
        client.send('PRI /elsewhere HTTP/1.1\r\n\r\n')
        assertError(await client.response(), 408, 4)
      })
    })

    describe(`slow clients ${where}`, () => {
      const timeoutsMs = { headers: 200, request: 400, checkInterval: 50 }

      test('answers slow headers with 408 and closes the connection', async () => {
        const client = await connect(await openDoor({ isTls, timeoutsMs }), isTls)
        client.send('GET /iam/v2beta1/groups HTTP/1.1\r\nHost: a\r\nX-Slow: ')
        assertError(await client.response(), 408, 4)
        assert.equal((await client.remainingBytes()).length, 0)
      })

      test('answers a slow body with 408 and closes the connection', async () => {
        const client = await connect(await openDoor({ isTls, timeoutsMs }), isTls)
        client.send(post(groups, '{"name":"a"}').slice(0, -5))
        assertError(await client.response(), 408, 4)
        assert.equal((await client.remainingBytes()).length, 0)
      })

      test('closes an idle connection', async () => {
        const client = await connect(
          await openDoor({ isTls, timeoutsMs: { keepAlive: 50, checkInterval: 10 } }),
          isTls,
        )
        client.send(get('/healthz'))
        assert.equal((await client.response()).status, 200)
        assert.equal((await client.remainingBytes()).length, 0)
      })
    })

    test(`a client that closes its side after the request ${where} still gets the response`, async () => {
      const release = deferred()
      const client = await connect(await openDoor({ isTls, act: () => release.promise }), isTls)
      client.socket.end(get(`${groups}/${uid}`))
      setTimeout(release.resolve, 50)
      assert.equal((await client.response()).status, 200)
      assert.equal((await client.remainingBytes()).length, 0)
    })
  }

  test('an HTTP/2 preface that arrives byte by byte is answered with settings', async () => {
    const client = await connect(await openDoor())
    await sendByteByByte(client, preface)
    client.send(emptySettings)
    const [first] = (await once(client.socket, 'data')) as [Buffer]
    const settingsType = 4
    assert.equal(first[3], settingsType)
  })

  test('HTTP/2 under TLS requires ALPN', async () => {
    const client = await connect(await openDoor({ isTls: true }), true)
    client.send(preface)
    assertError(await client.response(), 400, 3)
  })

  test('the connection of a client that disconnects during the TLS handshake is released', {
    timeout: 60_000,
  }, async () => {
    const door = await openDoor({ isTls: true, timeoutsMs: { firstBytes: 600_000 } })
    for (const part of [0, 100]) {
      const client = await connect(door)
      client.socket.end(Buffer.from('160301020001', 'hex').subarray(0, part))
      await client.remainingBytes()
    }
    await door.drain()
  })

  test('a client that reads none of its responses is disconnected', async () => {
    const door = await openDoor({ timeoutsMs: { idle: 200 } })
    const client = await connect(door)
    client.socket.pause()
    // More than the socket buffers can contain.
    for (let sent = 0; sent < 40; sent++) client.send(get('/healthz').repeat(1000))
    // Resolves when no connection is left.
    await door.drain()
  })

  test('a client that never starts the TLS handshake is disconnected', async () => {
    const door = await openDoor({ isTls: true, timeoutsMs: { firstBytes: 100 } })
    const client = await connect(door)
    await client.remainingBytes()
  })

  test('input that is not TLS closes only its own connection', async () => {
    const door = await openDoor({ isTls: true })
    const plainClient = await connect(door)
    plainClient.send(get('/healthz'))
    await plainClient.remainingBytes()
    const client = await connect(door, true)
    client.send(get('/healthz'))
    assert.equal((await client.response()).status, 200)
  })

  describe('limits', () => {
    test('rejects headers over 16 KiB while the client is still sending', async () => {
      const client = await connect(await openDoor())
      client.send(`${get(groups).slice(0, -2)}X-Long: `)
      const part = 'a'.repeat(64 * 1024)
      for (let sent = 0; sent < 16; sent++) client.send(part)
      assertError(await client.response(), 431, 8)
      assert.equal((await client.remainingBytes()).length, 0)
    })

    test('disconnects a client that never stops sending malformed input', async () => {
      const client = await connect(await openDoor({ timeoutsMs: { linger: 100 } }))
      const timer = setInterval(() => client.send('a'.repeat(64 * 1024)), 5)
      closers.push(() => clearInterval(timer))
      assertError(await client.response(), 400, 3)
      await closed(client)
    })

    for (const size of [8 * 1024 + 1, 20_000, 100_000]) {
      test(`rejects a URL of ${size} bytes`, async () => {
        const client = await connect(await openDoor())
        client.send(get(`/${'a'.repeat(size - 1)}`))
        assertError(await client.response(), 414, 8)
      })
    }

    test('accepts a URL of 8 KiB', async () => {
      const client = await connect(await openDoor())
      client.send(get(`${groups}?name=`.padEnd(8 * 1024, 'a')))
      assert.equal((await client.response()).status, 200)
    })

    for (const [how, headers] of Object.entries({
      'with a length': { 'content-length': 10_000_000 },
      'in chunks': { 'transfer-encoding': 'chunked' },
    })) {
      test(`rejects a body of 10 MB ${how}, and the client can read the error`, async () => {
        const { port } = await openDoor()
        const sent = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: groups, headers })
        // The server may close the connection before the whole body is sent.
        sent.on('error', () => {})
        sent.end(Buffer.alloc(10_000_000, ' '))
        const [response] = await once(sent, 'response')
        const text = Buffer.concat(await response.toArray()).toString()
        assert.equal(response.statusCode, 413)
        assert.equal(response.headers.connection, 'close')
        assert.equal(JSON.parse(text).code, 8)
      })
    }

    test('keeps the connection open if a call announces a body although its method has none', async () => {
      const client = await connect(await openDoor())
      for (let times = 0; times < 2; times++) {
        client.send(`${get(groups, 'Transfer-Encoding: chunked')}0\r\n\r\n`)
        const { status, headers } = await client.response()
        assert.equal(status, 200)
        assert.notEqual(headers.get('connection'), 'close')
      }
    })

    test('lets a client send its whole rejected body and then read the error', async () => {
      const client = await connect(await openDoor({ lingerMs: 5000 }))
      client.socket.pause()
      const size = 8_000_000
      client.send(`POST ${groups} HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`)
      for (let sent = 0; sent < size; sent += size / 100) {
        await new Promise<void>((resolve, reject) => {
          client.socket.write(Buffer.alloc(size / 100), (error) => (error ? reject(error) : resolve()))
        })
        await new Promise((resolve) => setImmediate(resolve))
      }
      client.socket.resume()
      assertError(await client.response(), 413, 8)
      assert.equal((await client.remainingBytes()).length, 0)
    })

    test('answers a POST request that announces no body, and the next request on the connection', async () => {
      const client = await connect(await openDoor())
      for (const header of ['', 'Content-Type: application/json\r\n', '', 'Expect: 100-continue\r\n']) {
        client.send(`POST ${groups} HTTP/1.1\r\nHost: a\r\n${header}\r\n`)
        assert.equal((await client.response()).status, 200, header)
      }
    })

    test('accepts a body of 1 MiB', async () => {
      const client = await connect(await openDoor())
      client.send(post(groups, '{}'.padEnd(1024 * 1024)))
      assert.equal((await client.response()).status, 200)
    })

    test('disconnects a client that never stops sending a rejected body', async () => {
      const client = await connect(await openDoor({ lingerMs: 100 }))
      client.send(`POST ${groups} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`)
      const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
      const timer = setInterval(() => client.send(chunk.repeat(5)), 5)
      closers.push(() => clearInterval(timer))
      assertError(await client.response(), 413, 8)
      await closed(client)
    })

    test('limits chunk extensions', async () => {
      const client = await connect(await openDoor())
      client.send(
        `POST ${groups} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(40_000)}`,
      )
      assertError(await client.response(), 413, 8)
    })
  })

  describe('a connection can be used again', () => {
    let door: TestDoor
    after(() => door.close())

    const requests = {
      'a path that does not exist': post('/nowhere', '{"name":"a"}'),
      'a method that is not allowed': post(
        `${groups}/${uid}:nothing`,
        '',
        'X-Http-Method-Override: GET',
      ).replace('POST', 'PUT'),
      'a malformed escape': get(`${groups}/%zz`),
      'a body that is not JSON': post(groups, 'no'),
      'a body of an unsupported type': post(groups, 'no', 'Content-Type: text/html'),
      'a preflight': get(groups).replace('GET', 'OPTIONS'),
      'a HEAD request': get(`${groups}/${uid}`).replace('GET', 'HEAD'),
      'a post to a plain path': post('/healthz', 'hello'),
      'an error in a plain path': get('/broken'),
    }
    for (const [what, text] of Object.entries(requests)) {
      test(`after ${what}`, async () => {
        door ??= await openTestDoor()
        const client = await connect(door)
        client.send(text)
        const first = await client.response(text.startsWith('HEAD'))
        assert.notEqual(first.headers.get('connection'), 'close')
        client.send(get(`${groups}/${uid}`))
        assert.equal((await client.response()).status, 200)
      })
    }

    test('after a request that was rejected before its body arrived', async () => {
      door ??= await openTestDoor()
      const client = await connect(door)
      const [head = '', body = ''] = post('/nowhere', 'x'.repeat(1000)).split('\r\n\r\n')
      client.send(`${head}\r\n\r\n`)
      assertError(await client.response(), 404, 5)
      client.send(body + get(`${groups}/${uid}`))
      assert.equal((await client.response()).status, 200)
    })
  })

  describe('Expect: 100-continue', () => {
    const head = (length: number, path = groups) =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`

    test('is answered with 100 for a body that will be read', async () => {
      const client = await connect(await openDoor())
      client.send(head(2))
      assert.equal((await client.response()).status, 100)
      client.send('{}')
      assert.equal((await client.response()).status, 200)
      client.send(get('/healthz'))
      assert.equal((await client.response()).status, 200)
    })

    test('is answered with an error for a body that is too large', async () => {
      const client = await connect(await openDoor())
      client.send(head(10_000_000))
      assertError(await client.response(), 413, 8)
      assert.equal((await client.remainingBytes()).length, 0)
    })

    test('is answered without 100 if the body would not be read', async () => {
      const client = await connect(await openDoor())
      client.send(head(10, '/nowhere'))
      const response = await client.response()
      assertError(response, 404, 5)
      assert.equal(response.headers.get('connection'), 'close')
      assert.equal((await client.remainingBytes()).length, 0)
    })

    test('other expectations are ignored', async () => {
      const client = await connect(await openDoor())
      client.send(get(groups, 'Expect: the-unexpected'))
      assert.equal((await client.response()).status, 200)
    })
  })

  describe('pipelined requests', () => {
    test('are answered in their order, even if a later one is done first', async () => {
      const first = deferred()
      const door = await openDoor({ act: ({ method }) => method === 'GetGroup' && first.promise })
      const client = await connect(door)
      client.send(get(`${groups}/${uid}`) + get(groups) + get('/healthz'))
      setTimeout(first.resolve, 50)
      const answers = [await client.response(), await client.response(), await client.response()]
      assert.deepEqual(
        answers.map(({ body }) => (body.startsWith('{') ? JSON.parse(body).name : body)),
        ['GetGroup', 'ListGroups', 'ok\n'],
      )
    })

    test('malformed input after a request does not replace its response', async () => {
      const release = deferred()
      const door = await openDoor({ act: () => release.promise })
      const client = await connect(door)
      client.send(`${get(`${groups}/${uid}`)}\0\0 garbage\r\n\r\n`)
      client.send('more garbage')
      setTimeout(release.resolve, 50)
      assert.equal((await client.response()).status, 200)
      assertError(await client.response(), 400, 3)
      assert.equal((await client.remainingBytes()).length, 0)
    })
  })

  describe('unusual requests', () => {
    const cases: Record<string, [text: string, status: number]> = {
      'an absolute target': [get(`http://door.test${groups}/${uid}`), 200],
      'an absolute target of a plain path': [get('http://door.test/healthz?x=y'), 200],
      'an absolute target without a path': [get('http://door.test'), 404],
      'HTTP/1.0': [`GET ${groups} HTTP/1.0\r\n\r\n`, 200],
      'no Host': [`GET ${groups} HTTP/1.1\r\n\r\n`, 400],
      'an upgrade to h2c': [get(groups, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'), 200],
      'an upgrade to a websocket': [get(groups, 'Connection: Upgrade', 'Upgrade: websocket'), 200],
      'OPTIONS *': ['OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 404],
      TRACE: [get(groups).replace('GET', 'TRACE'), 405],
      'a proxy request': ['CONNECT door.test:443 HTTP/1.1\r\nHost: a\r\n\r\n', 501],
      'two lengths': [get(groups, 'Content-Length: 1', 'Content-Length: 2'), 400],
      'a length together with chunks': [get(groups, 'Content-Length: 1', 'Transfer-Encoding: chunked'), 400],
      'an unknown method': [get(groups).replace('GET', 'BREW'), 400],
      'a control character in a header': [get(groups, 'X-Bad: \x01'), 400],
      'a TLS handshake on a port without TLS': ['\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', 400],
    }
    for (const [what, [text, status]] of Object.entries(cases)) {
      test(`${what} is answered with ${status}`, async () => {
        const client = await connect(await openDoor())
        client.send(Buffer.from(text, 'latin1'))
        const response = await client.response()
        assert.equal(response.status, status, response.body)
        assert.ok(response.headers.get('x-request-id'))
        if (status >= 400) assertError(response, status, response.json().code)
      })
    }
  })

  describe('every response', () => {
    const requests: Record<string, string> = {
      'a success': get(groups),
      'a missing path': get('/nowhere'),
      'a preflight': get(groups, 'Origin: https://console.test').replace('GET', 'OPTIONS'),
      'a plain path': get('/healthz'),
      'a wrong method on a plain path': get('/healthz').replace('GET', 'DELETE'),
    }
    for (const isTls of [false, true]) {
      for (const [what, text] of Object.entries(requests)) {
        test(`has the request id and security headers: ${what}${isTls ? ' under TLS' : ''}`, async () => {
          const client = await connect(await openDoor({ isTls }), isTls)
          client.send(text.replace('\r\n\r\n', '\r\nX-Request-Id: my-id.1\r\n\r\n'))
          const { headers } = await client.response()
          assert.equal(headers.get('x-request-id'), 'my-id.1')
          assert.equal(headers.get('x-content-type-options'), 'nosniff')
          assert.equal(headers.get('cache-control'), 'no-store')
          assert.equal(headers.get('referrer-policy'), 'no-referrer')
          assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
          assert.equal(headers.has('strict-transport-security'), isTls)
          assert.equal(headers.has('server'), false)
        })
      }
    }

    test('has a new request id if the request id that was sent is malformed', async () => {
      const client = await connect(await openDoor())
      for (const sent of ['', 'a b', 'x'.repeat(129), '"', 'ä']) {
        client.send(get(groups, `X-Request-Id: ${sent}`))
        const { headers } = await client.response()
        assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
      }
    })

    test('lists the methods of a path if the method is wrong', async () => {
      const client = await connect(await openDoor())
      client.send(get(`${groups}/${uid}`).replace('GET', 'PUT'))
      const response = await client.response()
      assertError(response, 405, 12)
      assert.deepEqual(response.headers.get('allow')?.split(', ').sort(), [
        'DELETE',
        'GET',
        'HEAD',
        'OPTIONS',
        'PATCH',
        'POST',
      ])
      client.send(get('/healthz').replace('GET', 'DELETE'))
      assert.equal((await client.response()).headers.get('allow'), 'GET, HEAD')
    })

    test('to HEAD has the headers of GET and no body', async () => {
      const client = await connect(await openDoor())
      client.send(get(groups))
      const full = await client.response()
      client.send(get(groups).replace('GET', 'HEAD'))
      const head = await client.response(true)
      assert.equal(head.status, 200)
      assert.equal(head.headers.get('content-length'), full.headers.get('content-length'))
      client.send(get('/healthz'))
      assert.equal((await client.response()).body, 'ok\n')
    })

    test('allows only listed origins', async () => {
      const client = await connect(await openDoor())
      client.send(get(groups, 'Origin: https://console.test').replace('GET', 'OPTIONS'))
      const ours = await client.response()
      assert.equal(ours.status, 204)
      assert.equal(ours.headers.get('access-control-allow-origin'), 'https://console.test')
      assert.match(ours.headers.get('access-control-allow-headers') ?? '', /authorization/)
      assert.equal(ours.headers.get('vary'), 'Origin')
      client.send(get(groups, 'Origin: https://elsewhere.test'))
      const theirs = await client.response()
      assert.equal(theirs.headers.has('access-control-allow-origin'), false)
      assert.equal(theirs.headers.get('vary'), 'Origin')
    })

    test('to a malformed Grpc-Timeout is 400, and is reported', async () => {
      const door = await openDoor()
      const client = await connect(door)
      client.send(get(groups, 'Grpc-Timeout: soon', 'X-Request-Id: hasty'))
      assertError(await client.response(), 400, 3)
      assert.deepEqual(
        door.rejected.map(({ requestId }) => requestId),
        ['hasty'],
      )
    })
  })

  describe('a call', () => {
    test('that throws an internal error does not show it to the caller', async () => {
      const act = () => {
        throw new Error('a secret of the server')
      }
      const client = await connect(await openDoor({ act }))
      client.send(get(groups))
      const response = await client.response()
      assertError(response, 500, 13)
      assert.doesNotMatch(response.body, /secret/)
    })

    test('whose client disconnects before the response does not affect other calls', async () => {
      const release = deferred()
      const door = await openDoor({ act: ({ method }) => method === 'ListGroups' && release.promise })
      const gone = await connect(door)
      gone.send(get(groups))
      await new Promise((resolve) => setTimeout(resolve, 50))
      gone.socket.resetAndDestroy()
      release.resolve()
      const client = await connect(door)
      client.send(get(`${groups}/${uid}`))
      assert.equal((await client.response()).status, 200)
    })

    test('whose client disconnects while it sends the body is not run', async () => {
      const calls: string[] = []
      const door = await openDoor({ act: ({ method }) => calls.push(method) })
      const gone = await connect(door)
      gone.send(post(groups, '{"name":"a"}').slice(0, -3))
      await new Promise((resolve) => setTimeout(resolve, 50))
      gone.socket.resetAndDestroy()
      await door.drain()
      assert.deepEqual(calls, [])
    })

    test('that throws a StatusError is answered with its status', async () => {
      const act = () => {
        throw malformed('not like this')
      }
      const client = await connect(await openDoor({ act }))
      client.send(get(groups))
      assertError(await client.response(), 400, 3)
    })
  })

  describe('drain', () => {
    test('answers running requests and closes all other connections', async () => {
      const release = deferred()
      const arrived = deferred()
      const door = await openDoor({
        timeoutsMs: { firstBytesAtStop: 50 },
        act: () => {
          arrived.resolve()
          return release.promise
        },
      })
      const [idle, silent, busy] = await Promise.all([connect(door), connect(door), connect(door)])
      idle.send(get('/healthz'))
      await idle.response()
      busy.send(get(groups))
      await arrived.promise
      const drained = door.drain()
      assert.equal((await idle.remainingBytes()).length, 0)
      assert.equal((await silent.remainingBytes()).length, 0)
      await assert.rejects(rawClient(door.port), { code: 'ECONNREFUSED' })
      release.resolve()
      const response = await busy.response()
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('connection'), 'close')
      assert.equal((await busy.remainingBytes()).length, 0)
      await drained
    })

    test('closes TLS connections whose handshake has not ended, and those that have sent nothing after it', {
      timeout: 60_000,
    }, async () => {
      const door = await openDoor({
        isTls: true,
        timeoutsMs: { firstBytes: 2 ** 31 - 1, firstBytesAtStop: 50 },
      })
      const [unfinished, silent, secure] = await Promise.all([
        connect(door),
        connect(door),
        connect(door, true),
      ])
      // The header of a TLS record (RFC 8446 section 5.1), without its content.
      unfinished.send(Buffer.from([22, 3, 1, 2, 0]))
      const drained = door.drain()
      for (const client of [unfinished, silent, secure])
        assert.equal((await client.remainingBytes()).length, 0)
      await drained
    })

    test('still answers a connection that was just opened', async () => {
      const door = await openDoor()
      const client = await connect(door)
      const drained = door.drain()
      client.send(get(groups))
      const response = await client.response()
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('connection'), 'close')
      await drained
    })

    test('answers all clients that wait to be accepted', async () => {
      const count = 100
      let calls = 0
      const door = await openDoor({ act: () => calls++ })
      // Another process connects and sends requests, while the event loop of this one stands still.
      const program = `
      let sent = 0
      for (let at = 0; at < ${count}; at++)
        require('node:net').connect(${door.port}, '127.0.0.1')
          .end(${JSON.stringify(get(groups))}, () => ++sent === ${count} && process.exit())`
      assert.equal(spawnSync(process.execPath, ['-e', program]).status, 0)
      await door.drain()
      assert.equal(calls, count)
    })
  })

  describe('ports', () => {
    test('reports a port that is in use', async () => {
      const { port } = await openDoor()
      await assert.rejects(openTestDoor({ port }), { code: 'EADDRINUSE' })
    })

    test('binds no address if one of them is in use', async (t) => {
      const other = createServer()
      const port = await freePort()
      other.listen(port, '127.0.0.2')
      try {
        await once(other, 'listening')
      } catch {
        t.skip('this machine has one loopback address only')
        return
      }
      closers.push(() => other.close())
      await assert.rejects(openTestDoor({ port, hosts: ['127.0.0.1', '127.0.0.2'] }), { code: 'EADDRINUSE' })
      await openDoor({ port, hosts: ['127.0.0.1'] })
    })

    test('skips an address that this machine does not have, unless it is the first', async () => {
      const door = await openDoor({ hosts: ['127.0.0.1', '203.0.113.1'] })
      const client = await connect(door)
      client.send(get('/healthz'))
      assert.equal((await client.response()).status, 200)
      await assert.rejects(openDoor({ hosts: ['203.0.113.1', '127.0.0.1'] }), { code: 'EADDRNOTAVAIL' })
    })
  })

  test('an agent with keep-alive sends many requests over one connection', async () => {
    let connections = 0
    const door = await openDoor()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    closers.push(() => agent.destroy())
    for (let at = 0; at < 5; at++) {
      const sent = httpRequest({ port: door.port, host: '127.0.0.1', path: groups, agent })
      sent.once('socket', (socket) => socket.once('connect', () => connections++))
      sent.end()
      const [response] = await once(sent, 'response')
      await response.toArray()
    }
    assert.equal(connections, 1)
  })
})
