// HTTP messages that a proxy and the server could parse differently (request smuggling) are refused, on every path, and
// leave the store unchanged.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Code } from '../../server/aip/code.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { AttackedPlatform } from './hostile.ts'
import { assertRestRefused, startAttackedPlatform } from './hostile.ts'

const groups = '/iam/v2beta1/groups'
/** A call, a probe, a page of the reference, an endpoint of sign-in, and a path that does not exist. */
const paths = [groups, '/healthz', '/docs', '/oauth/authorize', '/nowhere']
const kibibyte = 1024

onEachStore('hostile HTTP messages', (engine) => {
  let attacked: AttackedPlatform
  before(async () => {
    attacked = await startAttackedPlatform(engine)
  })
  after(() => attacked.stop())

  /** Sends a request whose head has these lines and the token of the owner. */
  async function sendHead(lines: string[], body = '') {
    const { app, owner } = attacked.platform
    const client = await rawClient(app.port)
    try {
      client.send([...lines, `Authorization: Bearer ${owner.token}`, '', body].join('\r\n'))
      return await client.response()
    } finally {
      client.close()
    }
  }

  async function assertHeadRefused(what: string, lines: string[], body = ''): Promise<void> {
    const answer = await sendHead(lines, body)
    try {
      assertRestRefused(answer, Code.INVALID_ARGUMENT)
      assert.equal(answer.headers.get('connection'), 'close')
    } catch (error) {
      throw new Error(`${what} got ${answer.status} ${answer.body}`, { cause: error })
    }
  }

  test('a Host that is repeated or malformed is refused on every path', async () => {
    const hosts: Record<string, string[]> = {
      repeated: ['Host: stemma.test', 'Host: stemma.test'],
      'repeated in another spelling': ['Host: stemma.test', 'hOST: elsewhere.test'],
      empty: ['Host: '],
      missing: [],
      'with a space': ['Host: stemma test'],
      'with a path': ['Host: stemma.test/x'],
      'with a user': ['Host: me@stemma.test'],
      'with two ports': ['Host: stemma.test:80:81'],
      'with a port that is no number': ['Host: stemma.test:http'],
      'a list': ['Host: stemma.test, elsewhere.test x'],
      'with a character outside ASCII': ['Host: st\u00e4mma.test'],
      'with a quote': ['Host: "stemma.test"'],
      'with a bracket that is not closed': ['Host: [::1'],
    }
    for (const path of paths)
      for (const [what, lines] of Object.entries(hosts))
        await assertHeadRefused(`${path} with a Host ${what}`, [`GET ${path} HTTP/1.1`, ...lines])
    await attacked.assertUnchanged()
  })

  test('every well-formed Host is accepted', async () => {
    for (const host of ['localhost', 'stemma.test:8080', '127.0.0.1', '[::1]:8080', 'a_b.test', '%41.test'])
      assert.equal((await sendHead([`GET ${groups} HTTP/1.1`, `Host: ${host}`])).status, 200, host)
  })

  test('a version other than 1.0 and 1.1 is refused', async () => {
    for (const path of paths)
      for (const version of ['2.0', '0.9', '1.2', '3.0', '9.9'])
        await assertHeadRefused(version, [`GET ${path} HTTP/${version}`, 'Host: stemma.test'])
  })

  test('a transfer coding other than chunked is refused', async () => {
    const codings = [
      ...['gzip, chunked', 'deflate, chunked', 'identity', 'chunked, chunked', 'gzip', 'x-mine, chunked'],
      ...['chunked;q=1', '"chunked"', ''],
    ]
    for (const coding of codings)
      await assertHeadRefused(
        coding,
        [`POST ${groups} HTTP/1.1`, 'Host: stemma.test', `Transfer-Encoding: ${coding}`],
        '2\r\n{}\r\n0\r\n\r\n',
      )
    await attacked.assertUnchanged()
  })

  test('HTTP/1.0 with a transfer coding is refused', async () => {
    const head = [`POST ${groups} HTTP/1.0`, 'Host: stemma.test', 'Connection: keep-alive']
    await assertHeadRefused('1.0', [...head, 'Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n')
  })

  test('a body with a content encoding other than identity is refused with 415, and the response names the accepted encoding', async () => {
    const body = gzipSync(JSON.stringify({ name: 'compressed' }))
    const target = `${groups}/${attacked.platform.owner.organization}`
    for (const encoding of ['gzip', 'GZIP', 'br', 'identity, gzip', 'gzip, identity', 'mine']) {
      const headers = { 'content-encoding': encoding, 'content-type': 'application/json' }
      const answer = await attacked.rest({ verb: 'POST', target, headers, body })
      assertRestRefused(answer, Code.INVALID_ARGUMENT, { http: 415 })
      assert.equal(answer.headers.get('accept-encoding'), 'identity')
      const form = { 'content-encoding': encoding, 'content-type': 'application/x-www-form-urlencoded' }
      for (const path of ['/sts/exchange', '/oauth/token', '/oauth/device'])
        assert.equal((await attacked.rest({ verb: 'POST', target: path, headers: form, body })).status, 415)
    }
    await attacked.assertUnchanged()
  })

  test('a body with the content encoding identity is accepted', async () => {
    const headers = { 'content-encoding': 'identity' }
    const target = `${groups}/${attacked.group}`
    const answer = await attacked.rest({ verb: 'PATCH', target, headers, body: '{}' })
    assert.equal(answer.status, 200, answer.body)
  })

  test('headers of 16 KiB in total are accepted and longer ones are refused, whatever the length of the URL', async () => {
    // v1 ignores unknown parameters, so its URL can be made long.
    for (const path of [groups, '/iam/v1/groups?unknown='.padEnd(8 * kibibyte, 'a')]) {
      const head = [`GET ${path} HTTP/1.1`, 'Host: stemma.test']
      const authorization = `Authorization: Bearer ${attacked.platform.owner.token}`
      // Each line of a header ends with a line break of two bytes.
      const fillLength = 16 * kibibyte - `Host: stemma.test\r\n${authorization}\r\nX-Long: \r\n`.length
      assert.equal((await sendHead([...head, `X-Long: ${'a'.repeat(fillLength)}`])).status, 200)
      const refused = await sendHead([...head, `X-Long: ${'a'.repeat(fillLength + 1)}`])
      assertRestRefused(refused, Code.RESOURCE_EXHAUSTED, { http: 431 })
    }
  })

  test('no header is dropped, however many there are', async () => {
    // By default, node:http would drop headers after the first 2000.
    const emptyHeaders = Array.from({ length: 2500 }, () => 'a: ')
    const answer = await sendHead([
      'GET /healthz HTTP/1.1',
      'Host: stemma.test',
      ...emptyHeaders,
      'Host: elsewhere.test',
    ])
    assertRestRefused(answer, Code.INVALID_ARGUMENT)
  })
})
