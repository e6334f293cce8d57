import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readWarnings } from '@stemma/api'
import fc from 'fast-check'
import { formatWarnings } from './warning.ts'

const read = (text: string) => readWarnings(new Headers({ 'stemma-warning': text }))

describe('warnings', () => {
  test('are a list of strings with the field as parameter', () => {
    const warnings = [{ field: 'static_keys.issuer_keys', description: 'must be {"keys":[...]}' }]
    const text = formatWarnings(warnings, (path) => path.toUpperCase())
    assert.equal(text, '"must be {\\"keys\\":[...]}";field="STATIC_KEYS.ISSUER_KEYS"')
    assert.deepEqual(read(text), [{ ...warnings[0], field: 'STATIC_KEYS.ISSUER_KEYS' }])
  })

  test('are read as they were written if they are printable ASCII', () => {
    const text = fc.string({ unit: 'grapheme-ascii', maxLength: 300 })
    const warnings = fc.array(fc.record({ field: text, description: text }, { noNullPrototype: true }), {
      maxLength: 5,
    })
    fc.assert(fc.property(warnings, (list) => assert.deepEqual(read(formatWarnings(list)), list)))
  })

  test('never break a header, and are limited in number and length', () => {
    const list = Array.from({ length: 9 }, () => ({
      field: 'ä\r\nx: y',
      description: '\u{1f600}"'.repeat(500),
    }))
    const text = formatWarnings(list)
    assert.match(text, /^[ -~]+$/)
    assert.ok(text.length < 5000)
    assert.deepEqual([read(text).length, read(text)[0]?.field], [5, '???x: y'])
  })
})
