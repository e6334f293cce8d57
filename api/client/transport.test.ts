import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { advisoriesAt, groupsAt, isStemmaError, waitUntil } from '../testing/clients.ts'
import {
  neverAnswer,
  sendBeginning,
  sendChunks,
  sendJson,
  sendUnavailable,
  serversOfSuite,
} from '../testing/scripted-server.ts'
import type { ConnectionOptions } from './options.ts'
import { cachedTokenSource } from './token-source.ts'

describe('a call', () => {
  const { start } = serversOfSuite()

  test('rejects with the abort reason if it is aborted while it waits for a response, a retry or a token', async () => {
    const silentServer = await start(neverAnswer)
    const busyServer = await start(sendUnavailable({ 'retry-after': '9' }))
    let isTokenRequested = false
    const neverResolves = () => {
      isTokenRequested = true
      return new Promise<string>(() => undefined)
    }
    for (const { groups, isWaiting } of [
      { groups: groupsAt(silentServer.url), isWaiting: () => silentServer.requests.length === 1 },
      { groups: groupsAt(busyServer.url), isWaiting: () => busyServer.requests.length === 1 },
      { groups: groupsAt(silentServer.url, { token: neverResolves }), isWaiting: () => isTokenRequested },
    ]) {
      const reason = new Error('changed my mind')
      const controller = new AbortController()
      const call = groups.getGroup({ uid: 'x' }, { signal: controller.signal })
      const rejected = assert.rejects(call, (error) => error === reason)
      await waitUntil(isWaiting)
      await sleep(20)
      controller.abort(reason)
      await rejected
    }
    assert.equal(silentServer.requests.length, 1)
    await waitUntil(() => silentServer.requests[0]?.socket.destroyed === true)
  })

  test('sends nothing if the signal is already aborted', async () => {
    const { url, requests } = await start(sendJson({}))
    const signal = AbortSignal.abort(new Error('never'))
    await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }, { signal }), /never/)
    assert.equal(requests.length, 0)
  })

  test('fails with DEADLINE_EXCEEDED after its timeout, which includes all attempts', async () => {
    const { url } = await start(neverAnswer)
    const slowCall = groupsAt(url, { timeoutMs: 50 }).getGroup({ uid: 'x' })
    await assert.rejects(slowCall, isStemmaError(Code.DEADLINE_EXCEEDED, /50 ms/))
    const { url: busyUrl } = await start(sendUnavailable({ 'retry-after': '5' }))
    await assert.rejects(
      groupsAt(busyUrl).getGroup({ uid: 'x' }, { timeoutMs: 60 }),
      isStemmaError(Code.DEADLINE_EXCEEDED),
    )
  })

  test('ignores unknown fields of the response', async () => {
    const { url } = await start(sendJson({ name: 'a', mood: { is: 'fine' } }))
    assert.equal((await groupsAt(url).getGroup({ uid: 'x' })).name, 'a')
  })

  test('fails with a StemmaError for every error response and every invalid response', async () => {
    const answers: [RequestListener, Code][] = [
      [sendJson('hello'), Code.INTERNAL],
      [sendJson({ name: 7 }), Code.INTERNAL],
      [(_, response) => void response.end('<html>'), Code.INTERNAL],
      [(_, response) => void response.writeHead(502).end('<html>bad gateway'), Code.UNAVAILABLE],
      [(_, response) => void response.writeHead(418).end(), Code.UNKNOWN],
      [sendJson([], 404), Code.NOT_FOUND],
      [sendJson({ code: 'x', message: {}, details: 'y' }, 500), Code.INTERNAL],
      [sendJson({ code: 0, message: 'fine' }, 403), Code.PERMISSION_DENIED],
      [sendJson({ code: 2, message: 'who knows' }, 500), Code.UNKNOWN],
      [
        (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
        Code.UNAVAILABLE,
      ],
    ]
    for (const [answer, code] of answers) {
      const { url } = await start(answer)
      await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }), isStemmaError(code))
    }
  })

  test('passes the headers of the response to onHeaders', async () => {
    const { url } = await start(sendJson({}, 200, { etag: '"1"' }))
    let etag: string | null = null
    await groupsAt(url).getGroup({ uid: 'x' }, { onHeaders: (headers) => (etag = headers.get('etag')) })
    assert.equal(etag, '"1"')
  })

  test('does not use a rejected token again', async () => {
    const rejected = sendJson({ code: 16, message: 'Unauthenticated: no', details: [] }, 401)
    const { url, requests } = await start(sendJson({}), rejected, sendJson({}))
    let count = 0
    const token = cachedTokenSource(async () => ({
      token: `token-${++count}`,
      expiry: Date.now() + 3_600_000,
    }))
    const groups = groupsAt(url, { token })
    await groups.getGroup({ uid: 'x' })
    await assert.rejects(groups.getGroup({ uid: 'x' }), isStemmaError(Code.UNAUTHENTICATED))
    await groups.getGroup({ uid: 'x' })
    const sentTokens = requests.map(({ headers }) => headers.authorization)
    assert.deepEqual(sentTokens, ['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
  })

  test('never quotes a token in an error', async () => {
    const { url, requests } = await start(sendJson({}))
    const call = groupsAt(url, { token: 'secret\n' }).getGroup({ uid: 'x' })
    await assert.rejects(call, ({ message }) => !message.includes('secret'))
    assert.equal(requests.length, 0)
  })

  test('rejects an invalid baseUrl', () => {
    for (const baseUrl of [
      '',
      'stemma',
      'ftp://a',
      'http://me:secret@a',
      'http://a?b',
      'http://a#b',
      'http://a?',
      'http://a#',
      'http://a ',
      '\nhttp://a',
      'http://a/b c',
    ])
      assert.throws(() => groupsAt(baseUrl), /baseUrl must be/)
  })
})

describe('a stream', () => {
  const { start } = serversOfSuite()
  const documents = (baseUrl: string, options?: Partial<ConnectionOptions>) =>
    advisoriesAt(baseUrl, options).exportAdvisoriesOsv({})

  test('yields documents wherever the chunks are split', async () => {
    const bytes = Buffer.from('{"id":"ä"}\n{"id":"b"}\n{"id":"c"}\n')
    const { url } = await start(sendChunks(...Array.from(bytes, (byte) => Buffer.of(byte))))
    assert.deepEqual(await Array.fromAsync(documents(url)), [{ id: 'ä' }, { id: 'b' }, { id: 'c' }])
  })

  test('is retried before its first document, not after', async () => {
    const cutOff: RequestListener = (_, response) =>
      void response.write('{"id":"a"}\n', () => setTimeout(() => response.socket?.resetAndDestroy(), 20))
    const { url, requests } = await start(sendUnavailable(), cutOff, sendChunks('{"id":"b"}\n'))
    const received: unknown[] = []
    await assert.rejects(async () => {
      for await (const document of documents(url)) received.push(document)
    }, isStemmaError(Code.UNAVAILABLE))
    assert.deepEqual(received, [{ id: 'a' }])
    assert.equal(requests.length, 2)
  })

  test('fails if a line is invalid or the last line does not end with a newline', async () => {
    for (const text of ['{"id":"a"}', '{"id":\n', '7\n', '{"id":"a"}\n{"id"']) {
      const { url } = await start(sendChunks(text))
      await assert.rejects(Array.fromAsync(documents(url)), isStemmaError(Code.DATA_LOSS))
    }
  })

  test('closes the connection when its reader leaves the loop', async () => {
    const { url, requests } = await start(sendBeginning('{"id":"a"}\n{"id":"b"}\n'))
    for await (const document of documents(url)) {
      assert.deepEqual(document, { id: 'a' })
      break
    }
    await waitUntil(() => requests[0]?.socket.destroyed === true)
  })

  test('applies the timeout while it waits for the server, not while its reader works', async () => {
    const { url } = await start(sendBeginning('{"id":"a"}\n{"id":"b"}\n'))
    const received: unknown[] = []
    await assert.rejects(async () => {
      for await (const document of documents(url, { timeoutMs: 100 })) {
        received.push(document)
        await sleep(150)
      }
    }, isStemmaError(Code.DEADLINE_EXCEEDED))
    assert.equal(received.length, 2)
  })

  test('fails with the reason of its signal when the signal is aborted', async () => {
    const { url } = await start(sendBeginning('{"id":"a"}\n'))
    const controller = new AbortController()
    const stream = advisoriesAt(url).exportAdvisoriesOsv({}, { signal: controller.signal })
    await assert.rejects(async () => {
      for await (const _ of stream) controller.abort(new Error('enough'))
    }, /enough/)
  })
})
