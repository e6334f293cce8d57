import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { UIDPFilterSchema } from '@stemma/api/gen/platform/common/uidp_pb.ts'
import { placeOf } from './place.ts'

const [here, there] = ['a'.repeat(40), 'b'.repeat(40)]
const everything = { ancestorsOf: '', descendantsOf: '', childrenOf: '', inRoot: false, ids: [] }
const uidp = (filter: object) => create(UIDPFilterSchema, filter)

describe('where v1 looks', () => {
  test('is everywhere, unless it says otherwise', () => {
    assert.deepEqual(placeOf(undefined, {}), everything)
    assert.deepEqual(placeOf(uidp({ inRoot: true }), { id: '' }), { ...everything, inRoot: true })
  })

  test('is one of the resources that uidp names, or nowhere', () => {
    assert.deepEqual(placeOf(undefined, { id: here }), { ...everything, ids: [here] })
    assert.deepEqual(placeOf(uidp({ ids: [there, here] }), { id: here }), { ...everything, ids: [here] })
    const { inRoot, childrenOf, ids } = placeOf(uidp({ ids: [there] }), { id: here })
    assert.deepEqual([inRoot, Boolean(childrenOf), ids], [true, true, [here]])
  })

  test('is one group, the root, or nowhere', () => {
    assert.deepEqual(placeOf(undefined, { parent: here }), { ...everything, childrenOf: here })
    assert.deepEqual(placeOf(undefined, { parent: '/' }), { ...everything, inRoot: true })
    assert.deepEqual(placeOf(uidp({ childrenOf: there }), { parent: here }), {
      inRoot: true,
      childrenOf: here,
    })
  })
})
