import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { AccountService } from '../gen/platform/iam/v2beta1/account_pb.ts'
import { groupsAt, isStemmaError, quickRetry } from '../testing/clients.ts'
import { freePort } from '../testing/free-port.ts'
import {
  listen,
  resetConnection,
  sendJson,
  sendUnavailable,
  serversOfSuite,
} from '../testing/scripted-server.ts'
import { createClient } from './client.ts'
import { StemmaError } from './stemma-error.ts'

describe('retries of a read', () => {
  const { start } = serversOfSuite()

  test('happen when the server is unavailable or the connection breaks', async () => {
    const answers = [sendUnavailable(), resetConnection, sendUnavailable(), sendJson({ name: 'a' })]
    const { url, requests } = await start(...answers)
    assert.equal((await groupsAt(url).getGroup({ uid: 'x' })).name, 'a')
    assert.equal(requests.length, 4)
  })

  test('stop after the maximum number of attempts', async () => {
    const { url, requests } = await start(sendUnavailable())
    await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }), isStemmaError(Code.UNAVAILABLE, /busy/))
    assert.equal(requests.length, 4)
    const withoutRetries = groupsAt(url, { retry: { ...quickRetry, maxAttempts: 1 } })
    await assert.rejects(withoutRetries.getGroup({ uid: 'x' }), isStemmaError(Code.UNAVAILABLE))
    assert.equal(requests.length, 5)
  })

  test('wait for the delay of Retry-After', async () => {
    const { url, requests } = await start(sendUnavailable({ 'retry-after': '1' }), sendJson({}))
    const begin = performance.now()
    await groupsAt(url).getGroup({ uid: 'x' })
    assert.ok(performance.now() - begin > 990)
    assert.equal(requests.length, 2)
  })

  test('do not happen if Retry-After exceeds the maximum delay', async () => {
    const { url, requests } = await start(sendUnavailable({ 'retry-after': '3600' }), sendJson({}))
    await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }), (error) => {
      assert.ok(error instanceof StemmaError)
      assert.equal(error.retryDelayMs, 3_600_000)
      return true
    })
    assert.equal(requests.length, 1)
  })

  test('compute the delay from the date in Retry-After and the time that `now` returns', async () => {
    const now = () => Date.parse('2026-01-01T00:00:00Z')
    const { url } = await start(sendUnavailable({ 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }))
    await assert.rejects(groupsAt(url, { now }).getGroup({ uid: 'x' }), (error) => {
      assert.ok(error instanceof StemmaError)
      assert.equal(error.retryDelayMs, 60_000)
      return true
    })
  })

  test('do not happen for errors other than UNAVAILABLE, unless the server asks for a delay', async () => {
    for (const [status, code] of [
      [400, 3],
      [403, 7],
      [404, 5],
      [429, 8],
      [500, 13],
    ] as const) {
      const { url, requests } = await start(sendJson({ code, message: 'no', details: [] }, status))
      await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }), isStemmaError(code))
      assert.equal(requests.length, 1)
    }
  })
})

describe('retries of a create', () => {
  const { start } = serversOfSuite()
  const createGroup = (url: string, options = {}) =>
    groupsAt(url).createGroup({ group: { name: 'a' } }, options)
  const keyOf = ({ headers }: IncomingMessage) => headers['idempotency-key']

  test('send the same random key with every attempt of a call, and another with the next call', async () => {
    const answers = [sendUnavailable(), resetConnection, sendUnavailable(), sendJson({ name: 'a' })]
    const { url, requests } = await start(...answers)
    await createGroup(url)
    const [key, ...others] = requests.map(keyOf)
    assert.match(String(key), /^"[0-9a-f]{32}"$/)
    assert.deepEqual(others, [key, key, key])
    await createGroup(url)
    assert.notEqual(keyOf(requests[4] as IncomingMessage), key)
  })

  test('send the key of the caller, if there is one', async () => {
    const { url, requests } = await start(sendUnavailable(), sendJson({}))
    await createGroup(url, { headers: { 'Idempotency-Key': '"mine"' } })
    assert.deepEqual(requests.map(keyOf), ['"mine"', '"mine"'])
  })

  test('happen if the server answers that the first attempt is still running', async () => {
    const running = sendJson({ code: 10, message: 'running', details: [] }, 409, { 'retry-after': '0' })
    const { url, requests } = await start(running, sendJson({}))
    await createGroup(url)
    assert.equal(requests.length, 2)
  })

  test('do not happen if the caller declares the call not idempotent', async () => {
    const { url, requests } = await start(sendUnavailable(), sendJson({}))
    await assert.rejects(createGroup(url, { isIdempotent: false }), isStemmaError(Code.UNAVAILABLE))
    assert.equal(requests.length, 1)
  })
})

describe('retries of a call that changes something and creates nothing', () => {
  const { start } = serversOfSuite()

  test('do not happen, and its request has no key', async () => {
    const { url, requests } = await start(sendUnavailable(), sendJson({}))
    const account = createClient(AccountService, { baseUrl: url, retry: quickRetry })
    await assert.rejects(account.changePassword({ newPassword: 'x' }), isStemmaError(Code.UNAVAILABLE))
    assert.deepEqual(
      requests.map(({ headers }) => headers['idempotency-key']),
      [undefined],
    )
  })
})

describe('retries of any call', () => {
  const { start } = serversOfSuite()

  test('happen after the delay that the server asks for when a limit is reached', async () => {
    const limited = sendJson({ code: 8, message: 'slowly', details: [] }, 429, { 'retry-after': '0' })
    for (const call of ['getGroup', 'deleteGroup'] as const) {
      const { url, requests } = await start(limited, sendJson({}))
      await groupsAt(url)[call]({ uid: 'x' })
      assert.equal(requests.length, 2)
    }
  })

  test('add the backoff to the delay that the server asks for, and report each delay', async () => {
    const limited = sendJson({ code: 8, message: 'slowly', details: [] }, 429, { 'retry-after': '0' })
    const { url } = await start(limited, sendUnavailable(), sendJson({}))
    const delays: [number, Code][] = []
    const onDelay = (delayMs: number, { code }: StemmaError) => void delays.push([delayMs, code])
    await groupsAt(url, { retry: { initialDelayMs: 4, random: () => 0.5, onDelay } }).getGroup({ uid: 'x' })
    assert.deepEqual(delays, [
      [3, Code.RESOURCE_EXHAUSTED],
      [6, Code.UNAVAILABLE],
    ])
  })

  test('do not happen if the server asks for more than the maximum delay when a limit is reached', async () => {
    const limited = sendJson({ code: 8, message: 'slowly', details: [] }, 429, { 'retry-after': '11' })
    const { url, requests } = await start(limited, sendJson({}))
    await assert.rejects(groupsAt(url).getGroup({ uid: 'x' }), isStemmaError(Code.RESOURCE_EXHAUSTED))
    assert.equal(requests.length, 1)
  })
})

describe('retries of an update or a delete', () => {
  const { servers, start } = serversOfSuite()

  test('do not happen if the server may have received the request', async () => {
    for (const answer of [sendUnavailable(), resetConnection]) {
      const { url, requests } = await start(answer, sendJson({}))
      const call = groupsAt(url).updateGroup({ group: { uid: 'x', name: 'a' } })
      await assert.rejects(call, isStemmaError(Code.UNAVAILABLE))
      assert.equal(requests.length, 1)
      assert.equal(requests[0]?.headers['idempotency-key'], undefined)
    }
  })

  test('happen if the caller declares the call idempotent', async () => {
    const { url, requests } = await start(sendUnavailable(), sendJson({}))
    await groupsAt(url).deleteGroup({ uid: 'x' }, { isIdempotent: true })
    assert.equal(requests.length, 2)
  })

  test('happen while the connection is refused, since nothing was sent', async () => {
    const port = await freePort()
    const groups = groupsAt(`http://127.0.0.1:${port}`, { retry: { initialDelayMs: 100, random: () => 0 } })
    const updated = groups.updateGroup({ group: { uid: 'x', name: 'a' } })
    await sleep(20)
    servers.push(await listen(sendJson({ name: 'a' }), port))
    assert.equal((await updated).name, 'a')
  })
})
