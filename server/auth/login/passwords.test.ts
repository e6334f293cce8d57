import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { openPasswords, passwordFault } from './passwords.ts'

describe('passwords', () => {
  test('are verified against their hash, however the keyboard composes characters', async () => {
    const passwords = openPasswords(randomBytes)
    const hash = await passwords.hash('cafe\u0301 au lait, deux')
    assert.match(hash, /^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/)
    assert.equal(await passwords.verify('caf\u00e9 au lait, deux', hash), true)
    assert.equal(await passwords.verify('cafe au lait, deux', hash), false)
  })

  test('are verified with the cost that their hash was made with', async () => {
    const hash = await openPasswords(randomBytes, { N: 1024, r: 8, p: 1 }).hash('several easy words')
    assert.match(hash, /^scrypt\$1024\$8\$1\$/)
    const passwords = openPasswords(randomBytes)
    assert.equal(await passwords.verify('several easy words', hash), true)
    assert.equal(await passwords.verify('other easy words', hash), false)
  })

  test('of the maximum length are verified to their end, also if their characters take two code units', async () => {
    const passwords = openPasswords(randomBytes, { N: 1024, r: 8, p: 1 })
    const prefix = '\u{1f3bb}'.repeat(255)
    const hash = await passwords.hash(`${prefix}x`)
    assert.equal(await passwords.verify(`${prefix}x`, hash), true)
    assert.equal(await passwords.verify(`${prefix}y`, hash), false)
  })

  test('of the maximum length match in any composition of their characters, but not with more characters', async () => {
    const passwords = openPasswords(randomBytes, { N: 1024, r: 8, p: 1 })
    const password = 'several \u00e9 words'.padEnd(256, 'xyz \u00fc')
    const hash = await passwords.hash(password)
    assert.equal(passwordFault(password.normalize('NFD'), 'ada@example.com'), undefined)
    assert.equal(await passwords.verify(password.normalize('NFD'), hash), true)
    for (const longer of [`${password}x`, `${password}${'y'.repeat(256)}`])
      assert.equal(await passwords.verify(longer, hash), false)
  })

  test('are measured in characters, even if these take two code units each', () => {
    const pictures = (count: number) =>
      String.fromCodePoint(...Array.from({ length: count }, (_, at) => 0x1f300 + at))
    assert.match(passwordFault(pictures(11), 'ada@example.com') ?? '', /at least 12/)
    for (const count of [12, 256]) assert.equal(passwordFault(pictures(count), 'ada@example.com'), undefined)
    assert.match(passwordFault(pictures(257), 'ada@example.com') ?? '', /at most 256/)
  })

  test('never match a missing or empty hash', async () => {
    const passwords = openPasswords(randomBytes)
    for (const hash of [undefined, '']) assert.equal(await passwords.verify('', hash), false)
  })

  test('must be long enough and hard to guess', () => {
    assert.equal(passwordFault('several easy words', 'ada@example.com'), undefined)
    assert.match(passwordFault('short', 'ada@example.com') ?? '', /at least 12/)
    assert.match(passwordFault('x'.repeat(257), 'ada@example.com') ?? '', /at most 256/)
    for (const password of ['aaaaaaaaaaaa', 'ADA@example.com'])
      assert.match(passwordFault(password, 'ada@example.com') ?? '', /harder to guess/)
    for (const password of ['ada.lovelace1815!!', '--ada.lovelace--'])
      assert.match(passwordFault(password, 'ada.lovelace1815@example.com') ?? '', /harder to guess/)
    assert.equal(passwordFault('+-!?/&%$*#~^', '1815@example.com'), undefined)
  })
})
