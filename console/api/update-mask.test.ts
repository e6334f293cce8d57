import assert from 'node:assert/strict'
import { test } from 'node:test'
import { updateMask } from './update-mask.ts'

type Repo = { name?: string; public?: boolean; tags?: string[]; owner?: { name?: string; labels?: object } }

const mask = (loaded: Repo, edited: Repo) =>
  updateMask(loaded, edited, ['name', 'public', 'tags', 'owner.name', 'owner.labels'])

test('the mask of an update contains only the fields that differ', () => {
  const loaded: Repo = { name: 'app', public: true, tags: ['a'], owner: { name: 'ada', labels: { a: '1' } } }
  assert.equal(mask(loaded, { ...loaded, public: false }), 'public')
  assert.equal(mask(loaded, { ...loaded, name: 'tool', tags: ['a', 'b'] }), 'name,tags')
  assert.equal(mask(loaded, { ...loaded, owner: { name: 'bob', labels: { a: '1' } } }), 'owner.name')
  assert.equal(mask(loaded, { ...loaded, owner: { name: 'ada', labels: { a: '2' } } }), 'owner.labels')
  assert.equal(mask(loaded, {}), 'name,public,tags,owner.name,owner.labels')
})

test('an unset field is the same as an empty one, and keys may be in any order', () => {
  assert.equal(mask({}, { name: '', public: false, tags: [], owner: { labels: {} } }), 'uid')
  assert.equal(mask({ owner: { labels: { a: 1, b: 2 } } }, { owner: { labels: { b: 2, a: 1 } } }), 'uid')
  assert.equal(mask({ tags: ['a', 'b'] }, { tags: ['b', 'a'] }), 'tags')
})

test('the mask of an update without changes names the uid, because an empty mask stands for all fields', () => {
  assert.equal(mask({ name: 'app' }, { name: 'app' }), 'uid')
})
