import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { daysOf, durationOf, retentionTexts } from './retention-text.ts'

describe('retention rules', () => {
  test('are described in sentences', () => {
    const rules = [{ tags: ['v*'] }, { keepMostRecent: 3, keepPushedWithin: '86400s' }]
    assert.deepEqual(retentionTexts({ rules, deleteUntaggedAfter: '86400s' }), [
      'All tags like v* are kept.',
      'Of all tags, the last 3 and those pushed within 1 day are kept.',
      'Images without a tag are deleted after 1 day.',
    ])
    assert.deepEqual(retentionTexts({ deleteUntaggedAfter: '3600s' }), [
      'Images without a tag are deleted after 0.04 days.',
    ])
  })

  test('keep their durations when the form is saved unchanged', () => {
    for (const duration of ['3600s', '7200s', '4321s', '1209600s', '315360000s'])
      assert.equal(durationOf(daysOf(duration)), duration)
    assert.equal(durationOf(daysOf(undefined)), undefined)
  })
})
