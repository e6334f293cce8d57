import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { anyUid, smallTree, uidInSmallTree } from '../testing/arbitraries.ts'
import {
  depthOf,
  isAtOrBelow,
  isBelow,
  isUid,
  lineage,
  newChildUid,
  newRootUid,
  parentOf,
  rootOf,
} from './uid.ts'

const root = '0123456789abcdef0123456789abcdef01234567'
const child = `${root}/0123456789abcdef`

describe('a uid', () => {
  test('is 40 hex digits, then segments of 16', () => {
    for (const uid of [root, child, `${child}/ffffffffffffffff`]) assert.equal(isUid(uid), true, uid)
    const others = [
      ...['', '/', root.slice(1), `${root}0`, `${root}/`, `/${root}`, `${root}//0123456789abcdef`],
      ...[`${root}/0123456789abcde`, `${root}/0123456789abcdef0`, `${child}/`, root.toUpperCase()],
      ...[
        `${root}\n`,
        `${root} `,
        ` ${root}`,
        `${root}\0`,
        `${root}:verb`,
        `${root}/../${root}`,
        `g${root.slice(1)}`,
      ],
    ]
    for (const text of others) assert.equal(isUid(text), false, JSON.stringify(text))
  })

  test('is rejected beyond the maximum depth', () => {
    assert.equal(isUid(root + '/0123456789abcdef'.repeat(64)), true)
    assert.equal(isUid(root + '/0123456789abcdef'.repeat(65)), false)
    assert.equal(isUid('0'.repeat(10_000_000)), false)
  })

  test('is malformed if any character is replaced by one that is not a hex digit', () => {
    const changed = fc.tuple(anyUid(), fc.nat(), fc.string({ minLength: 1, maxLength: 1 }))
    fc.assert(
      fc.property(changed, ([uid, seed, letter]) => {
        const at = seed % uid.length
        const tried = uid.slice(0, at) + letter + uid.slice(at + 1)
        const isHexReplacedByHex = /[0-9a-f]/.test(letter) && uid[at] !== '/'
        assert.equal(isUid(tried), isHexReplacedByHex || letter === uid[at])
      }),
    )
  })

  test('that is created is well-formed and below its parent', () => {
    const newRoot = newRootUid(randomBytes)
    assert.equal(isUid(newRoot), true)
    const below = newChildUid(newRoot, Date.now(), randomBytes)
    assert.equal(isUid(below), true)
    assert.equal(parentOf(below), newRoot)
    assert.notEqual(newChildUid(newRoot, Date.now(), randomBytes), below)
  })

  test('that is created contains all random bytes', () => {
    assert.equal(
      newRootUid((size) => Buffer.alloc(size, 0xab)),
      'ab'.repeat(20),
    )
    assert.equal(
      newChildUid(root, 0, (size) => Buffer.alloc(size, 0x0c)),
      `${root}/000000${'0c'.repeat(5)}`,
    )
  })

  test('sorts next to uids created at the same time', () => {
    const at = (time: number) => newChildUid(root, time, randomBytes)
    const now = Date.UTC(2026, 5, 1)
    assert.equal(at(now).slice(0, -10), at(now + 63).slice(0, -10))
    assert.ok(at(now) < at(now + 64))
    for (const time of [0, 1, now, 2 ** 24 * 64 - 1, 2 ** 24 * 64, 2 ** 43 + 0.5, 8.64e15])
      assert.equal(isUid(at(time)), true, String(time))
  })

  test('contains its root, parent and depth', () => {
    fc.assert(
      fc.property(anyUid(), (uid) => {
        const segments = uid.split('/')
        assert.equal(rootOf(uid), segments[0])
        assert.equal(parentOf(uid), segments.slice(0, -1).join('/'))
        assert.equal(depthOf(uid), segments.length)
      }),
    )
  })

  test('has a lineage from its root down to itself', () => {
    fc.assert(
      fc.property(anyUid(), (uid) => {
        const segments = uid.split('/')
        const expected = segments.map((_, at) => segments.slice(0, at + 1).join('/'))
        assert.deepEqual(lineage(uid), expected)
      }),
    )
    assert.deepEqual(lineage(''), [])
  })

  test('is at or below exactly the uids of its lineage, and below the empty uid', () => {
    fc.assert(
      fc.property(uidInSmallTree, uidInSmallTree, (uid, place) => {
        const line = lineage(uid)
        assert.equal(isAtOrBelow(uid, place), line.includes(place))
        assert.equal(isBelow(uid, place), line.includes(place) && uid !== place)
        assert.equal(isBelow(uid, ''), true)
      }),
    )
    assert.equal(isBelow(`${root}/ffffffffffffffff`, `${root}/fffffffffffffff`), false)
    assert.equal(isBelow('', ''), false)
  })

  test('sorts directly before everything below it, so that a subtree is one range', () => {
    const sorted = [...smallTree].sort()
    for (const place of smallTree) {
      const range = sorted.filter((uid) => uid >= place && uid < `${place}0`)
      assert.deepEqual(
        range,
        sorted.filter((uid) => isAtOrBelow(uid, place)),
      )
    }
  })
})
