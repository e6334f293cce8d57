import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessEnd, forever, noAccess, openDecisions } from './decide.ts'
import type { Grant } from './grants.ts'

const root = 'a'.repeat(40)
const team = `${root}/${'b'.repeat(16)}`
const repo = `${team}/${'c'.repeat(16)}`
const sibling = `${root}/${'b'.repeat(15)}c`

const grant = (group: string, bits: number[], until?: number) => ({ group, bits: new Set(bits), until })

/** The results of `accessEnd`. `openDecisions` must return the same, also from its cache. */
function endsOf(list: Grant[], bits: number[], uids: string[]): number[] {
  const decide = openDecisions(list)
  const ends = uids.map((uid) => accessEnd(list, bits, uid))
  for (let round = 0; round < 2; round++)
    assert.deepEqual(
      uids.map((uid) => decide(bits, uid)),
      ends,
    )
  return ends
}

test('a grant applies at its group and below it, and nowhere else', () => {
  const ends = endsOf([grant(team, [1])], [1], [root, team, repo, sibling])
  assert.deepEqual(ends, [noAccess, forever, forever, noAccess])
})

test('each capability may come from a different grant, and access ends when the first capability ends', () => {
  const list = [grant(root, [1], 300), grant(team, [2], 200), grant(team, [2], 250)]
  assert.deepEqual(endsOf(list, [1, 2], [repo, root, sibling]), [250, noAccess, noAccess])
  assert.deepEqual(endsOf(list, [1, 2, 3], [repo]), [noAccess])
})

test('a grant without an end outlasts those with one', () => {
  const ends = endsOf([grant(root, [1], 300), grant(team, [1, 2])], [1], [repo, root, sibling])
  assert.deepEqual(ends, [forever, 300, 300])
})

test('access that requires no capability is always granted, even without grants', () => {
  assert.deepEqual(endsOf([], [], [root, repo]), [forever, forever])
  assert.deepEqual(endsOf([], [1], [root, repo]), [noAccess, noAccess])
})
