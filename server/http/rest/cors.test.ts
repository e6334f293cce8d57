import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { corsHeaders } from './cors.ts'

const allowed = ['https://console.example.com', 'http://localhost:3000']

/** The headers as a map. Asserts that each appears once. */
function headersFor(origin: string, isPreflight = false): Map<string, string> {
  const list = corsHeaders(allowed, origin, isPreflight)
  assert.equal(list.length % 2, 0)
  const names = list.filter((_, at) => at % 2 === 0)
  assert.equal(new Set(names).size, names.length)
  return new Map(names.map((name, at) => [name, list[at * 2 + 1] ?? '']))
}

describe('CORS headers', () => {
  test('allow listed origins, without credentials', () => {
    for (const origin of allowed) {
      const headers = headersFor(origin)
      assert.equal(headers.get('access-control-allow-origin'), origin)
      const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? []
      for (const name of ['etag', 'retry-after', 'x-request-id']) assert.ok(exposed.includes(name), name)
      assert.equal(headers.has('access-control-allow-credentials'), false)
      assert.equal(headers.has('access-control-allow-methods'), false)
    }
  })

  test('list methods and request headers in a preflight', () => {
    const headers = headersFor(allowed[0] ?? '', true)
    const ours = ['authorization', 'content-type', 'if-match', 'x-http-method-override', 'x-request-id']
    const theirs = ['cgclientid', 'cgrequestid', 'user-agent', 'traceparent', 'tracestate', 'baggage']
    for (const name of [...ours, ...theirs]) {
      assert.ok(headers.get('access-control-allow-headers')?.split(', ').includes(name), name)
    }
    for (const verb of ['GET', 'POST', 'PATCH', 'DELETE']) {
      assert.ok(headers.get('access-control-allow-methods')?.split(', ').includes(verb), verb)
    }
  })

  test('allow no other origin, however similar', () => {
    const others = [
      'https://console.example.com.evil.test',
      'https://console.example.com/',
      'http://console.example.com',
    ]
    for (const origin of [...others, 'https://CONSOLE.example.com', 'null', '', '*', 'https://a\r\nx: y']) {
      for (const isPreflight of [true, false]) {
        assert.deepEqual([...headersFor(origin, isPreflight)], [['vary', 'Origin']], origin)
      }
    }
  })

  test('always vary by origin', () => {
    assert.equal(headersFor(allowed[0] ?? '').get('vary'), 'Origin')
  })
})
