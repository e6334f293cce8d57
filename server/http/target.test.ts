import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitTarget } from './target.ts'

test('the target of a request is split into path and query, also if it is an absolute URL', () => {
  assert.deepEqual(splitTarget('/a/b?c=d?e'), { path: '/a/b', query: 'c=d?e' })
  assert.deepEqual(splitTarget('http://host/a'), { path: '/a', query: '' })
  assert.deepEqual(splitTarget('http://host'), { path: '/', query: '' })
  assert.deepEqual(splitTarget('HTTPS://host?x=1'), { path: '/', query: 'x=1' })
})
