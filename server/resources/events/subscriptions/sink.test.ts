import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sinkFault } from './sink.ts'

describe('the sink of a subscription', () => {
  test('may be any https URL', () => {
    for (const sink of ['https://hooks.test', 'https://hooks.test:8443/a/b?key=c', 'https://192.0.2.1/'])
      assert.equal(sinkFault(sink, false), undefined, sink)
  })

  test('may be an http URL of a loopback address if loopback is allowed', () => {
    for (const sink of ['http://localhost:9000/hook', 'http://127.0.0.1/', 'http://[::1]:1/']) {
      assert.equal(sinkFault(sink, true), undefined, sink)
      assert.match(sinkFault(sink, false) ?? '', /must be an https URL/)
    }
    assert.match(sinkFault('http://hooks.test/', true) ?? '', /must be an https URL/)
    assert.match(sinkFault('http://localhost.hooks.test/', true) ?? '', /must be an https URL/)
  })

  test('must be an https URL without spaces or non-ASCII characters', () => {
    const wrongUrls = [
      '',
      'hooks.test',
      '/hook',
      'ftp://hooks.test',
      'javascript:alert(1)',
      'HTTPS//x',
      'https://',
    ]
    for (const sink of [
      ...wrongUrls,
      'https://hooks.test/ ',
      'https://hooks.test/\n',
      ' https://hooks.test',
      'https://é.test',
    ])
      assert.match(sinkFault(sink, true) ?? '', /must be an https URL/, sink)
  })

  test('must have no user, password or fragment', () => {
    for (const sink of [
      'https://ada@hooks.test',
      'https://ada:secret@hooks.test',
      'https://:secret@hooks.test',
    ])
      assert.match(sinkFault(sink, true) ?? '', /without user or password/)
    assert.match(sinkFault('https://hooks.test/#part', true) ?? '', /without fragment/)
  })
})
