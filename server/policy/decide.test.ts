import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessEnd, forever, indexByGroup, noAccess } from './decide.ts'

const root = 'a'.repeat(40)
const team = `${root}/${'b'.repeat(16)}`
const repo = `${team}/${'c'.repeat(16)}`
const sibling = `${root}/${'b'.repeat(15)}c`

const grant = (group: string, bits: number[], until?: number) => ({ group, bits: new Set(bits), until })

test('a grant applies at its group and below it, and nowhere else', () => {
  const index = indexByGroup([grant(team, [1])])
  assert.deepEqual(
    [root, team, repo, sibling].map((uid) => accessEnd(index, [1], uid)),
    [noAccess, forever, forever, noAccess],
  )
})

test('different grants may contribute the capabilities, and access ends with the first of these', () => {
  const index = indexByGroup([grant(root, [1], 300), grant(team, [2], 200), grant(team, [2], 250)])
  assert.equal(accessEnd(index, [1, 2], repo), 250)
  assert.equal(accessEnd(index, [1, 2], root), noAccess)
  assert.equal(accessEnd(index, [1, 2, 3], repo), noAccess)
})

test('a grant without an end outlasts those with one', () => {
  const index = indexByGroup([grant(root, [1], 300), grant(team, [1, 2])])
  assert.equal(accessEnd(index, [1], repo), forever)
  assert.equal(accessEnd(index, [1], root), 300)
})

test('no capabilities are held everywhere, also without grants', () => {
  assert.equal(accessEnd(indexByGroup([]), [], root), forever)
  assert.equal(accessEnd(indexByGroup([]), [1], root), noAccess)
})
