import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { isAdvisoryId, newAdvisoryId } from './advisory-id.ts'

describe('the id of a new advisory', () => {
  test('has the form of an id, and differs from others', () => {
    const ids = Array.from({ length: 1000 }, () => newAdvisoryId(randomBytes))
    assert.deepEqual(
      ids.filter((id) => !isAdvisoryId(id)),
      [],
    )
    assert.equal(new Set(ids).size, ids.length)
  })

  test('ignores bytes that would favour some letters', () => {
    const bytes = [255, 240, 239, 0, 19, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert.equal(
      newAdvisoryId(() => Buffer.from(bytes)),
      'CGA-x2x2-3456-789c',
    )
  })
})
