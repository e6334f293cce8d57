import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hasTwins } from './duplicate-members.ts'

test('members that come twice are found, also where they are spelt differently', () => {
  const twins = [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"x":{"a":1,"b":[],"a":2}}',
    '[{"a":1},{"b":1, "b" : 2}]',
  ]
  for (const json of twins) assert.equal(hasTwins(json), true, json)
})

test('whatever JavaScript writes has none', () => {
  fc.assert(fc.property(fc.json(), (json) => !hasTwins(json)))
  for (const json of ['{"a":"a","b":"\\"a\\":"}', '{"a":["a","a"],"b":{"a":1}}', '{"\\"":1,"\\\\":2}'])
    assert.equal(hasTwins(json), false, json)
})
