import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { UIDPFilterSchema } from '@stemma/api/gen/platform/common/uidp_pb.ts'
import { uidpFilter } from './uidp-filter.ts'

const [first, second] = ['a'.repeat(40), 'b'.repeat(40)]
const everything = { ancestorsOf: '', descendantsOf: '', childrenOf: '', inRoot: false, ids: [] }
const uidp = (filter: object) => create(UIDPFilterSchema, filter)

describe('uidpFilter', () => {
  test('matches everything unless a filter is set', () => {
    assert.deepEqual(uidpFilter(undefined, {}), everything)
    assert.deepEqual(uidpFilter(uidp({ inRoot: true }), { id: '' }), { ...everything, inRoot: true })
  })

  test('matches an id only if uidp allows it', () => {
    assert.deepEqual(uidpFilter(undefined, { id: first }), { ...everything, ids: [first] })
    assert.deepEqual(uidpFilter(uidp({ ids: [second, first] }), { id: first }), {
      ...everything,
      ids: [first],
    })
    // No resource is both at root level and in a group, so this filter matches nothing.
    const { inRoot, childrenOf, ids } = uidpFilter(uidp({ ids: [second] }), { id: first })
    assert.deepEqual([inRoot, Boolean(childrenOf), ids], [true, true, [first]])
  })

  test('matches the children of a parent or the root level only if uidp allows it', () => {
    assert.deepEqual(uidpFilter(undefined, { parent: first }), { ...everything, childrenOf: first })
    assert.deepEqual(uidpFilter(undefined, { parent: '/' }), { ...everything, inRoot: true })
    // Matches nothing.
    assert.deepEqual(uidpFilter(uidp({ childrenOf: second }), { parent: first }), {
      inRoot: true,
      childrenOf: first,
    })
  })
})
