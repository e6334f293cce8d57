import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { etagOf, requireMatch, requireNoIfMatch } from './etag.ts'

const refused = (message: RegExp) => ({ http: 412, message })

describe('If-Match', () => {
  test('matches the current tag, also in a list, and *', () => {
    for (const ifMatch of [undefined, '*', etagOf(5), `"4", ${etagOf(5)}`]) requireMatch(ifMatch, 5)
    requireNoIfMatch(undefined)
  })

  test('with another tag is refused because the resource has changed', () =>
    assert.throws(() => requireMatch(etagOf(4), 5), refused(/has changed since it was read/)))

  test('with a weak tag, or without quotation marks, is refused with the reason', () => {
    for (const ifMatch of ['W/"5"', '5', ''])
      assert.throws(() => requireMatch(ifMatch, 5), refused(/must contain the ETag/), ifMatch)
  })

  test('for a resource that does not exist is refused with the reason', () =>
    assert.throws(() => requireNoIfMatch('*'), refused(/does not exist/)))
})
