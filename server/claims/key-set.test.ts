import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { keySetFault, readKeySet } from './key-set.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const good = publicKey.export({ format: 'jwk' })
const secret = privateKey.export({ format: 'jwk' })
const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
const setOf = (...keys: unknown[]) => JSON.stringify({ keys })

describe('a key set', () => {
  test('offers the keys that can verify signatures, and says why the others are not used', () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
    const { usable, faults } = readKeySet(setOf(good, { ...good, use: 'enc' }, weak, [], { kty: 'EC' }))
    assert.deepEqual(usable, [good])
    assert.deepEqual(
      faults.map((fault) => fault.split(' ', 1)[0]),
      ['keys[1]', 'keys[2]', 'keys[3]', 'keys[4]'],
    )
  })

  test('that is malformed or empty is accepted, but has no usable keys', () => {
    for (const text of ['keys', 'keyz', '{}', '[]', '1', 'null', setOf(), setOf(null), '{"keys":{}}', '[['])
      assert.deepEqual(
        [keySetFault(text), readKeySet(text).usable, readKeySet(text).faults.length],
        [undefined, [], 1],
        text,
      )
  })

  test('that contains a secret in any form is refused', () => {
    const texts = [
      setOf(secret),
      JSON.stringify(secret),
      JSON.stringify([{ jwks: { keys: [good, secret] } }]),
      setOf(secret).slice(0, -3),
      setOf({ kty: 'oct', k: 'c2VjcmV0' }),
      pem,
      JSON.stringify({ keys: [pem] }),
    ]
    for (const text of texts) {
      const fault = keySetFault(text) ?? ''
      assert.match(fault, /contains a secret/, text)
      assert.ok(!fault.includes(String(secret.d)))
    }
  })

  test('has at most 20 keys, and may be nested deeply', () => {
    assert.match(keySetFault(setOf(...Array(21).fill(good))) ?? '', /at most 20 keys/)
    const nested = '['.repeat(30_000) + ']'.repeat(30_000)
    assert.equal(keySetFault(nested), undefined)
  })
})
