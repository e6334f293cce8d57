import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { StatusError } from './errors.ts'
import { parseIdempotencyKey } from './idempotency-key.ts'

test('a quoted key may contain every printable ASCII character', () => {
  const printable = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  })
  fc.assert(
    fc.property(printable, (key) => {
      fc.pre(key.length > 0 && key.length <= 255)
      assert.equal(parseIdempotencyKey(`"${key.replaceAll(/["\\]/g, '\\$&')}"`), key)
    }),
  )
})

test('a key is the same with and without quotes', () => {
  for (const key of [
    '8e03978e-40d5-43dd-bc93-6894a57f9324',
    'a',
    'KG5LxwFBepaKHyUD',
    'a/b:c+d==',
    'x'.repeat(255),
  ])
    assert.equal(parseIdempotencyKey(key), parseIdempotencyKey(`"${key}"`))
})

test('the error for a malformed key does not contain the key', () => {
  const malformed = ['', '""', 'a b', 'a,b', '"a', 'a"', '"a"b"', '"\\a"', '"a";b=1', '"é"', 'é', '"\n"', ' ']
  for (const header of [...malformed, 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'y'.repeat(100_000)]) {
    const fault = parseIdempotencyKey(header)
    assert.ok(fault instanceof StatusError, header)
    assert.match(fault.message, /^Invalid argument: Idempotency-Key: must be one text of 1 to 255 printable/)
    assert.equal(fault.message, (parseIdempotencyKey('') as StatusError).message)
  }
})
