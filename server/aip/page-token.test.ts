import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { anyUid } from '../testing/arbitraries.ts'
import { StatusError } from './errors.ts'
import type { PageKey, PageKeys, Query } from './page-token.ts'
import { fingerprintOf, newPageKid, openPageSeals, openPageToken, sealPageToken } from './page-token.ts'

const now = Date.UTC(2026, 5, 1)
const day = 24 * 60 * 60 * 1000
const query: Query = {
  method: 'platform.iam.v2beta1.GroupsService.ListGroups',
  fingerprint: 'a filter and an order',
}
const cursor = ['team-a', '0123456789abcdef0123456789abcdef01234567']

const newKey = (): PageKey => ({ kid: randomBytes(8).toString('hex'), secret: randomBytes(32) })
const ringOf = (current: PageKey, ...others: PageKey[]): PageKeys => ({
  current,
  find: (kid) => [current, ...others].find((key) => key.kid === kid),
})
const keys = ringOf(newKey())

const seal = (ring = keys, values: (string | number)[] = cursor) =>
  sealPageToken(ring, query, values, now, randomBytes)
const open = (token: string, at = now, usedQuery = query, ring = keys) =>
  openPageToken(ring, usedQuery, token, at)

function assertRejected(token: string, usedQuery = query, ring = keys): void {
  assert.throws(
    () => open(token, now, usedQuery, ring),
    (error) => {
      assert.ok(error instanceof StatusError, String(error))
      assert.equal(error.http, 400)
      assert.deepEqual(
        error.violations.map(({ field }) => field),
        ['page_token'],
      )
      return true
    },
    token,
  )
}

const cursorValue = fc.oneof(fc.string({ maxLength: 255 }), fc.integer(), fc.maxSafeInteger())

describe('a page token', () => {
  test('opens to the cursor that it was sealed with', () => {
    fc.assert(
      fc.property(fc.array(cursorValue, { maxLength: 4 }), anyUid(), (values, uid) => {
        assert.deepEqual(open(seal(keys, [...values, uid])), [...values, uid])
      }),
      { numRuns: 300 },
    )
  })

  test('can contain the longest name and the deepest uid', () => {
    const deepest = `${'a'.repeat(40)}${'/0123456789abcdef'.repeat(64)}`
    for (const letter of ['a', '\u0001', '"', '😀']) {
      const longest = [letter.repeat(255), deepest]
      assert.deepEqual(open(seal(keys, longest)), longest)
    }
  })

  test('can contain the longest name of an advisory and still fits into a URL', () => {
    const deepest = `${'a'.repeat(40)}${'/0123456789abcdef'.repeat(64)}`
    const names = ['"', '漢', '😀'].map((letter) => letter.repeat(512))
    const controls = Array.from(randomBytes(512), (byte) => String.fromCharCode(1 + (byte % 31))).join('')
    for (const name of [...names, controls]) {
      const token = seal(keys, [name, deepest])
      assert.ok(token.length <= 4096, `${token.length} characters`)
      assert.deepEqual(open(token), [name, deepest])
    }
  })

  test('never starts with a dash', () => {
    for (let first = 0; first < 256; first++) {
      const kid = newPageKid((size) => Buffer.alloc(size, first))
      const token = seal(ringOf({ ...newKey(), kid }))
      assert.match(token, /^[A-Za-z0-9_]/)
      assert.equal(kid.length, 16)
    }
  })

  test('that is empty starts the list from its beginning', () => {
    assert.equal(open(''), undefined)
  })

  test('needs no escaping in a URL, and shows nothing of its content', () => {
    const token = seal()
    assert.match(token, /^[A-Za-z0-9_-]+$/)
    const bytes = Buffer.from(token, 'base64url').toString('latin1')
    for (const part of [...cursor, query.fingerprint, query.method, String(now)])
      assert.ok(!bytes.includes(part))
    assert.notEqual(seal(), token)
  })

  test('is rejected after any change of a single bit', () => {
    const bytes = Buffer.from(seal(), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assertRejected(changed.toString('base64url'))
    }
  })

  test('is rejected if it is truncated', () => {
    const token = seal()
    for (let length = 1; length < token.length; length++) assertRejected(token.slice(0, length))
    for (let from = 1; from < token.length; from++) assertRejected(token.slice(from))
  })

  test('is rejected in any other spelling of the same bytes', () => {
    const token = seal(keys, ['x', 'y'])
    const spellings = [
      `${token}=`,
      `${token}==`,
      ` ${token}`,
      `${token}\n`,
      `${token.slice(0, 9)}.${token.slice(9)}`,
    ]
    for (const spelling of spellings) assertRejected(spelling)
    // Some bits of the last character may not belong to any byte.
    const last = token.at(-1) ?? ''
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (const letter of alphabet.replace(last, '')) assertRejected(token.slice(0, -1) + letter)
  })

  test('is rejected if it is forged', () => {
    assertRejected('next')
    assertRejected('\0')
    assertRejected('\ud800')
    assertRejected('A'.repeat(4096))
    assertRejected('A'.repeat(10_000_000))
    assertRejected(
      Buffer.concat([Buffer.from(keys.current.kid, 'hex'), randomBytes(60)]).toString('base64url'),
    )
    fc.assert(fc.property(fc.string({ minLength: 1 }), (text) => assertRejected(text)))
  })

  test('is rejected by another method', () => {
    assertRejected(seal(), { ...query, method: 'platform.iam.v2beta1.RolesService.ListRoles' })
  })

  test('is rejected by a list with another filter or order, with an error that says so', () => {
    const other = { ...query, fingerprint: 'something else' }
    assertRejected(seal(), other)
    assert.throws(() => open(seal(), now, other), /belongs to a list with another filter or order/)
  })

  test('expires after exactly three days; then the list starts again', () => {
    const token = seal()
    assert.deepEqual(open(token, now + 3 * day), cursor)
    assert.equal(open(token, now + 3 * day + 1), undefined)
    assert.equal(open(token, now + 1000 * day), undefined)
  })

  test('that has expired starts the list again, even if the filter of the list has changed', () => {
    assert.equal(open(seal(), now + 4 * day, { ...query, fingerprint: 'something else' }), undefined)
  })

  test('is accepted if the clock was set back', () => {
    assert.deepEqual(open(seal(), now - day), cursor)
  })

  test('is accepted if its key is no longer the current one, for the same three days', () => {
    const old = newKey()
    const token = seal(ringOf(old))
    const ring = ringOf(newKey(), old)
    assert.deepEqual(open(token, now + 3 * day, query, ring), cursor)
    assert.equal(open(token, now + 3 * day + 1, query, ring), undefined)
  })

  test('of an unknown key is rejected', () => {
    assertRejected(seal(ringOf(newKey())))
  })

  test('of another key with the same kid is rejected', () => {
    assertRejected(seal(ringOf({ ...newKey(), kid: keys.current.kid })))
  })
})

describe('a fingerprint', () => {
  test('differs for different values', () => {
    const part = fc.array(fc.oneof(fc.string(), fc.boolean(), fc.integer()))
    fc.assert(
      fc.property(part, part, (a, b) => {
        assert.equal(fingerprintOf(a) === fingerprintOf(b), JSON.stringify(a) === JSON.stringify(b))
      }),
    )
    assert.notEqual(fingerprintOf(['ab', 'c']), fingerprintOf(['a', 'bc']))
  })
})

describe('the page seals of a server', () => {
  const minute = 60 * 1000
  let time = now
  let ring = keys
  const seals = openPageSeals(
    {
      get current() {
        return ring.current
      },
      find: (kid) => ring.find(kid),
    },
    () => time,
    randomBytes,
  )

  test('reuse the token of a page for a minute; the old token and the next one are both valid', () => {
    const first = seals.seal(query, cursor)
    time = now + minute - 1
    assert.equal(seals.seal(query, cursor), first)
    time = now + minute
    const later = seals.seal(query, cursor)
    assert.notEqual(later, first)
    for (const token of [first, later]) assert.deepEqual(seals.open(query, token), cursor)
  })

  test('create another token for another method, filter, cursor or key', () => {
    const tokens = [
      seals.seal(query, cursor),
      seals.seal({ ...query, method: 'other' }, cursor),
      seals.seal({ ...query, fingerprint: 'other' }, cursor),
      seals.seal(query, [...cursor, '']),
      seals.seal(query, ['1', 'a']),
      seals.seal(query, [1, 'a']),
    ]
    ring = ringOf(newKey(), keys.current)
    tokens.push(seals.seal(query, cursor))
    assert.equal(new Set(tokens).size, tokens.length)
    assert.deepEqual(seals.open(query, tokens.at(-1) ?? ''), cursor)
    assert.deepEqual(seals.open(query, tokens[0] ?? ''), cursor)
  })

  test('keep only a limited number of tokens for reuse', () => {
    const first = seals.seal(query, ['0'])
    for (let at = 1; at <= 500; at++) seals.seal(query, [String(at)])
    assert.notEqual(seals.seal(query, ['0']), first)
  })

  test('do not reuse a token after the clock was set back', () => {
    const first = seals.seal(query, cursor)
    time -= 1
    assert.notEqual(seals.seal(query, cursor), first)
  })
})
