// Calls to servers that do not behave, over real sockets.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { clone, create } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { GroupsService, ListGroupsRequestSchema } from '../gen/platform/iam/v2beta1/group_pb.ts'
import { AdvisoriesService } from '../gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { createClient } from './client.ts'
import { StemmaError } from './errors.ts'
import { list } from './list.ts'
import { remembering } from './tokens.ts'
import type { ConnectionOptions } from './transport.ts'

const servers: ReturnType<typeof createServer>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function listen(answer: RequestListener, port = 0): Promise<string> {
  const server = createServer({ keepAlive: false }, answer)
  servers.push(server)
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Answers each request with the next of these, and the last for ever. */
async function scripted(...answers: RequestListener[]) {
  const requests: IncomingMessage[] = []
  const url = await listen((request, response) => {
    requests.push(request)
    answers[Math.min(requests.length, answers.length) - 1]?.(request, response)
  })
  return { url, requests }
}

const json = (body: unknown, status = 200, headers = {}) => {
  return (_: IncomingMessage, response: ServerResponse) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body))
}
const busy = (headers = {}) => json({ code: 14, message: 'Unavailable: busy', details: [] }, 503, headers)
const reset = (request: IncomingMessage) => void request.socket.resetAndDestroy()
const silent = () => undefined
const lines =
  (...chunks: (string | Buffer)[]) =>
  async (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/jsonl' })
    for (const chunk of chunks) {
      response.write(chunk)
      await pause(5)
    }
    response.end()
  }

const retry = { firstDelay: 5, random: () => 0 }
const groupsAt = (baseUrl: string, more: Partial<ConnectionOptions> = {}) =>
  createClient(GroupsService, { baseUrl, retry, ...more })
const advisoriesAt = (baseUrl: string, more: Partial<ConnectionOptions> = {}) =>
  createClient(AdvisoriesService, { baseUrl, retry, ...more })

const isError = (code: Code, message = /./) => {
  return (error: unknown) => {
    assert.ok(error instanceof StemmaError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    return true
  }
}

describe('a read', () => {
  test('is tried again when the server is busy or the connection breaks', async () => {
    const { url, requests } = await scripted(busy(), reset, busy(), json({ name: 'a' }))
    assert.equal((await groupsAt(url).getGroup({ uid: 'x' })).name, 'a')
    assert.equal(requests.length, 4)
  })

  test('is tried no more often than agreed', async () => {
    const { url, requests } = await scripted(busy())
    await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }), isError(Code.UNAVAILABLE, /busy/))
    assert.equal(requests.length, 4)
    const once = groupsAt(url, { retry: { ...retry, attempts: 1 } })
    await assert.rejects(once.getGroup({ uid: 'x' }), isError(Code.UNAVAILABLE))
    assert.equal(requests.length, 5)
  })

  test('waits as long as the server asks, unless that is too long', async () => {
    const { url, requests } = await scripted(busy({ 'retry-after': '1' }), json({}))
    const start = performance.now()
    await groupsAt(url).getGroup({ uid: 'x' })
    assert.ok(performance.now() - start > 990)
    assert.equal(requests.length, 2)
    const patient = await scripted(busy({ 'retry-after': '3600' }), json({}))
    await assert.rejects(groupsAt(patient.url).getGroup({ uid: 'x' }), (error) => {
      assert.ok(error instanceof StemmaError)
      assert.equal(error.retryDelay, 3_600_000)
      return true
    })
    assert.equal(patient.requests.length, 1)
  })

  test('is not tried again for any other error', async () => {
    for (const [status, code] of [
      [400, 3],
      [403, 7],
      [404, 5],
      [429, 8],
      [500, 13],
    ] as const) {
      const { url, requests } = await scripted(json({ code, message: 'no', details: [] }, status))
      await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }), isError(code))
      assert.equal(requests.length, 1)
    }
  })
})

describe('a write', () => {
  test('is not sent twice when it may have been read', async () => {
    for (const answer of [busy(), reset]) {
      const { url, requests } = await scripted(answer, json({}))
      await assert.rejects(groupsAt(url).createGroup({ group: { name: 'a' } }), isError(Code.UNAVAILABLE))
      assert.equal(requests.length, 1)
      await groupsAt(url).createGroup({ group: { name: 'a' } })
    }
  })

  test('is sent twice if the caller says that it does no harm', async () => {
    const { url, requests } = await scripted(busy(), json({}))
    await groupsAt(url).deleteGroup({ uid: 'x' }, { isRepeatable: true })
    assert.equal(requests.length, 2)
  })

  test('is tried again while nobody listens, since nothing was sent', async () => {
    const url = await listen(silent)
    const [server] = servers.splice(0)
    await new Promise((resolve) => server?.close(resolve))
    const groups = groupsAt(url, { retry: { firstDelay: 100, random: () => 0 } })
    const made = groups.createGroup({ group: { name: 'a' } })
    await pause(20)
    await listen(json({ name: 'a' }), Number(new URL(url).port))
    assert.equal((await made).name, 'a')
  })
})

describe('a call', () => {
  test('ends when it is aborted, whatever it waits for, with the reason that was given', async () => {
    const waiting = await scripted(silent)
    const backingOff = await scripted(busy({ 'retry-after': '9' }))
    const never = () => new Promise<string>(() => undefined)
    for (const groups of [
      groupsAt(waiting.url),
      groupsAt(backingOff.url),
      groupsAt(waiting.url, { token: never }),
    ]) {
      const reason = new Error('changed my mind')
      const controller = new AbortController()
      const call = groups.getGroup({ uid: 'x' }, { signal: controller.signal })
      setTimeout(() => controller.abort(reason), 50)
      await assert.rejects(call, (error) => error === reason)
    }
    assert.equal(waiting.requests.length, 1)
    await until(() => waiting.requests[0]?.socket.destroyed === true)
  })

  test('that is aborted before it begins sends nothing', async () => {
    const { url, requests } = await scripted(json({}))
    const signal = AbortSignal.abort(new Error('never'))
    await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }, { signal }), /never/)
    assert.equal(requests.length, 0)
  })

  test('has a time to end in, with all its attempts', async () => {
    const { url } = await scripted(silent)
    const late = groupsAt(url, { timeout: 50 }).getGroup({ uid: 'x' })
    await assert.rejects(late, isError(Code.DEADLINE_EXCEEDED, /50 ms/))
    const { url: other } = await scripted(busy({ 'retry-after': '5' }))
    await assert.rejects(
      groupsAt(other).getGroup({ uid: 'x' }, { timeout: 60 }),
      isError(Code.DEADLINE_EXCEEDED),
    )
  })

  test('passes over what it does not know in an answer', async () => {
    const { url } = await scripted(json({ name: 'a', mood: { is: 'fine' } }))
    assert.equal((await groupsAt(url).getGroup({ uid: 'x' })).name, 'a')
  })

  test('tells an answer that is none', async () => {
    const answers: [RequestListener, Code][] = [
      [json('hello'), Code.INTERNAL],
      [json({ name: 7 }), Code.INTERNAL],
      [(_, response) => void response.end('<html>'), Code.INTERNAL],
      [(_, response) => void response.writeHead(502).end('<html>bad gateway'), Code.UNAVAILABLE],
      [(_, response) => void response.writeHead(418).end(), Code.UNKNOWN],
      [json([], 404), Code.NOT_FOUND],
      [json({ code: 'x', message: {}, details: 'y' }, 500), Code.INTERNAL],
      [json({ code: 0, message: 'fine' }, 403), Code.PERMISSION_DENIED],
      [json({ code: 2, message: 'who knows' }, 500), Code.UNKNOWN],
      [
        (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
        Code.UNAVAILABLE,
      ],
    ]
    for (const [answer, code] of answers) {
      const { url } = await scripted(answer)
      await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }), isError(code))
    }
  })

  test('hands out the headers of its answer', async () => {
    const { url } = await scripted(json({}, 200, { etag: '"1"' }))
    let tag: string | null = null
    await groupsAt(url).getGroup({ uid: 'x' }, { onHeaders: (headers) => (tag = headers.get('etag')) })
    assert.equal(tag, '"1"')
  })

  test('uses no token twice that was refused', async () => {
    const refused = json({ code: 16, message: 'Unauthenticated: no', details: [] }, 401)
    const { url, requests } = await scripted(json({}), refused, json({}))
    let count = 0
    const token = remembering(async () => ({ token: `token-${++count}`, expiry: Date.now() + 3_600_000 }))
    const groups = groupsAt(url, { token })
    await groups.getGroup({ uid: 'x' })
    await assert.rejects(groups.getGroup({ uid: 'x' }), isError(Code.UNAUTHENTICATED))
    await groups.getGroup({ uid: 'x' })
    const sent = requests.map(({ headers }) => headers.authorization)
    assert.deepEqual(sent, ['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
  })

  test('never repeats a token in an error', async () => {
    const { url, requests } = await scripted(json({}))
    const call = groupsAt(url, { token: 'secret\n' }).getGroup({ uid: 'x' })
    await assert.rejects(call, ({ message }) => !message.includes('secret'))
    assert.equal(requests.length, 0)
  })

  test('wants to know where the server is', () => {
    for (const baseUrl of ['', 'stemma', 'ftp://a', 'http://me:secret@a', 'http://a?b', 'http://a#b'])
      assert.throws(() => groupsAt(baseUrl), /baseUrl must be/)
  })
})

describe('a list', () => {
  test('that goes round in circles is left', async () => {
    const { url, requests } = await scripted(json({ groups: [{ name: 'a' }], nextPageToken: 'again' }))
    await assert.rejects(Array.fromAsync(list(groupsAt(url).listGroups, {})), isError(Code.INTERNAL))
    assert.equal(requests.length, 2)
  })

  test('asks for large pages unless told otherwise, and skips only once', async () => {
    const page = json({ groups: [{ name: 'a' }], nextPageToken: 'b' })
    const { url, requests } = await scripted(page, json({ groups: [{ name: 'b' }] }))
    const found = await Array.fromAsync(list(groupsAt(url).listGroups, { skip: 3 }), ({ name }) => name)
    assert.deepEqual(found, ['a', 'b'])
    assert.deepEqual(
      requests.map((request) => request.url),
      ['/iam/v2beta1/groups?pageSize=200&skip=3', '/iam/v2beta1/groups?pageSize=200&pageToken=b'],
    )
  })
})

describe('a list of messages', () => {
  test('takes a message for its request, and leaves it as it was', async () => {
    const page = json({ groups: [{ name: 'a' }], nextPageToken: 'b' })
    const { url, requests } = await scripted(page, json({}))
    const request = create(ListGroupsRequestSchema, { skip: 3, uidp: { childrenOf: 'c' } })
    const asked = clone(ListGroupsRequestSchema, request)
    const [found] = await Array.fromAsync(list(groupsAt(url).listGroups, request))
    assert.equal(found?.$typeName, 'platform.iam.v2beta1.Group')
    assert.deepEqual(request, asked)
    assert.deepEqual(
      requests.map((one) => one.url?.split('?')[1]),
      ['uidp.childrenOf=c&pageSize=200&skip=3', 'uidp.childrenOf=c&pageSize=200&pageToken=b'],
    )
  })
})

describe('a stream', () => {
  const documents = (baseUrl: string, more?: Partial<ConnectionOptions>) =>
    advisoriesAt(baseUrl, more).exportAdvisoriesOsv({})

  test('comes document by document, however it is cut', async () => {
    const bytes = Buffer.from('{"id":"ä"}\n{"id":"b"}\n{"id":"c"}\n')
    const { url } = await scripted(lines(...Array.from(bytes, (byte) => Buffer.of(byte))))
    assert.deepEqual(await Array.fromAsync(documents(url)), [{ id: 'ä' }, { id: 'b' }, { id: 'c' }])
  })

  test('is tried again before its first document, not after', async () => {
    const cut = (_: IncomingMessage, response: ServerResponse) =>
      void response.write('{"id":"a"}\n', () => setTimeout(() => response.socket?.resetAndDestroy(), 20))
    const { url, requests } = await scripted(busy(), cut, lines('{"id":"b"}\n'))
    const found: unknown[] = []
    await assert.rejects(async () => {
      for await (const document of documents(url)) found.push(document)
    }, isError(Code.UNAVAILABLE))
    assert.deepEqual(found, [{ id: 'a' }])
    assert.equal(requests.length, 2)
  })

  test('is not taken for whole without the end of its last line', async () => {
    for (const text of ['{"id":"a"}', '{"id":\n', '7\n', '{"id":"a"}\n{"id"']) {
      const { url } = await scripted(lines(text))
      await assert.rejects(Array.fromAsync(documents(url)), isError(Code.DATA_LOSS))
    }
  })

  test('ends for the server when its reader leaves', async () => {
    const { url, requests } = await scripted((_, response) => void response.write('{"id":"a"}\n{"id":"b"}\n'))
    for await (const document of documents(url)) {
      assert.deepEqual(document, { id: 'a' })
      break
    }
    await until(() => requests[0]?.socket.destroyed === true)
  })

  test('waits for each document no longer than agreed, and for its reader as long as it takes', async () => {
    const { url } = await scripted((_, response) => void response.write('{"id":"a"}\n{"id":"b"}\n'))
    const found: unknown[] = []
    await assert.rejects(async () => {
      for await (const document of documents(url, { timeout: 100 })) {
        found.push(document)
        await pause(150)
      }
    }, isError(Code.DEADLINE_EXCEEDED))
    assert.equal(found.length, 2)
  })

  test('ends when it is aborted', async () => {
    const { url } = await scripted((_, response) => void response.write('{"id":"a"}\n'))
    const controller = new AbortController()
    const stream = advisoriesAt(url).exportAdvisoriesOsv({}, { signal: controller.signal })
    await assert.rejects(async () => {
      for await (const _ of stream) controller.abort(new Error('enough'))
    }, /enough/)
  })
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(5)
}
