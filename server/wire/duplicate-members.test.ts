import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { hasDuplicateMembers } from './duplicate-members.ts'

describe('duplicate members', () => {
  test('are found, also where the names are escaped differently', () => {
    const duplicates = [
      '{"a":1,"a":2}',
      '{"a":1,"\\u0061":2}',
      '{"x":{"a":1,"b":[],"a":2}}',
      '[{"a":1},{"b":1, "b" : 2}]',
    ]
    for (const json of duplicates) assert.equal(hasDuplicateMembers(json), true, json)
  })

  test('are not found in JSON whose objects have unique names', () => {
    fc.assert(fc.property(fc.json(), (json) => !hasDuplicateMembers(json)))
    for (const json of ['{"a":"a","b":"\\"a\\":"}', '{"a":["a","a"],"b":{"a":1}}', '{"\\"":1,"\\\\":2}'])
      assert.equal(hasDuplicateMembers(json), false, json)
  })
})
