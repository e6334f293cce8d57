import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { makeSecret, openText, sealText } from './secret.ts'
import { readSecretFile } from './secret-file.ts'

describe('the secret of the server', () => {
  const secret = makeSecret('a secret', randomBytes)

  test('seals a text differently each time, and opens every result', () => {
    const [first, second] = [sealText(secret, 'test', 'hello'), sealText(secret, 'test', 'hello')]
    assert.notEqual(first, second)
    for (const sealed of [first, second]) assert.equal(openText(secret, 'test', sealed), 'hello')
  })

  test('does not open a text that was changed, or was sealed for another purpose or with another secret', () => {
    const sealed = sealText(secret, 'test', 'hello')
    const changed = `${sealed.slice(0, -1)}${sealed.endsWith('A') ? 'E' : 'A'}`
    assert.throws(() => openText(secret, 'other', sealed))
    assert.throws(() => openText(makeSecret('another', randomBytes), 'test', sealed))
    for (const text of [changed, sealed.slice(0, 20), '']) assert.throws(() => openText(secret, 'test', text))
  })

  test('derives one key for each purpose', () => {
    assert.deepEqual(secret.derive('a'), makeSecret('a secret', randomBytes).derive('a'))
    assert.notDeepEqual(secret.derive('a'), secret.derive('b'))
  })

  test('encrypts with a different key for each purpose of a sealer', () => {
    const [first, second] = [secret.sealerFor('a'), secret.sealerFor('b')]
    const sealed = sealText(first, 'test', 'hello')
    assert.equal(openText(makeSecret('a secret', randomBytes).sealerFor('a'), 'test', sealed), 'hello')
    for (const other of [second, secret]) assert.throws(() => openText(other, 'test', sealed))
    assert.throws(() => openText(first, 'test', sealText(secret, 'test', 'hello')))
  })

  test('is created once in its file, which only the owner can read', () => {
    const folder = mkdtempSync(join(tmpdir(), 'stemma-secret-'))
    try {
      const text = readSecretFile(folder, randomBytes)
      assert.match(text, /^[\w-]{43}$/)
      assert.equal(readSecretFile(folder, randomBytes), text)
      const mustNotCreate = () => assert.fail('an existing secret is only read')
      assert.equal(readSecretFile(folder, mustNotCreate), text)
      assert.deepEqual(readdirSync(folder), ['secret.key'])
      assert.equal(statSync(join(folder, 'secret.key')).mode & 0o777, 0o600)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
