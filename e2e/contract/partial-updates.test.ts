// docs/specification.md, Partial updates, tested with groups.
import assert from 'node:assert/strict'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { ExampleContext } from './examples.ts'
import { examples, violations } from './examples.ts'

const { createGroup, getGroup, updateGroup } = GroupsService.method

async function makeGroup({ succeed, owner }: ExampleContext): Promise<string> {
  const group = { name: 'before', description: 'kept' }
  return (await succeed(createGroup, { parent: owner.organization, group })).uid as string
}

examples('partial updates', {
  async 'without a mask, only the fields in the body change'(stage) {
    const uid = await makeGroup(stage)
    const changed = await stage.succeed(updateGroup, { group: { uid, name: 'after' } })
    assert.deepEqual([changed.name, changed.description], ['after', 'kept'])
    assert.deepEqual(await stage.succeed(getGroup, { uid }), changed)
    assert.ok((changed.updateTime as string) >= (changed.createTime as string))
  },

  async 'with a mask, only the listed fields change and the rest of the body is ignored'(stage) {
    const uid = await makeGroup(stage)
    const request = { group: { uid, name: 'after', description: 'ignored' }, updateMask: 'name' }
    const changed = await stage.succeed(updateGroup, request)
    assert.deepEqual([changed.name, changed.description], ['after', 'kept'])
  },

  async 'values outside the mask are not validated'(stage) {
    const uid = await makeGroup(stage)
    const request = { group: { uid, name: 'NOT A NAME', description: 'new' }, updateMask: 'description' }
    assert.equal((await stage.succeed(updateGroup, request)).description, 'new')
  },

  async 'a field in the mask that the body omits is cleared'(stage) {
    const uid = await makeGroup(stage)
    assert.equal(
      (await stage.succeed(updateGroup, { group: { uid }, updateMask: 'description' })).description,
      '',
    )
    const error = await stage.fail(updateGroup, { group: { uid }, updateMask: 'name' })
    assert.equal(error.code, 3)
    assert.deepEqual(violations(error), ['name'])
    assert.equal((await stage.succeed(getGroup, { uid })).name, 'before')
  },

  async 'several fields are separated by commas, and * means all'(stage) {
    const uid = await makeGroup(stage)
    const request = { group: { uid, name: 'after', description: 'new' }, updateMask: 'name,description' }
    const changed = await stage.succeed(updateGroup, request)
    assert.deepEqual([changed.name, changed.description], ['after', 'new'])
    const replaced = await stage.succeed(updateGroup, { group: { uid, name: 'again' }, updateMask: '*' })
    assert.deepEqual([replaced.name, replaced.description], ['again', ''])
  },

  async 'output-only fields are ignored in body and mask'(stage) {
    const uid = await makeGroup(stage)
    const before = await stage.succeed(getGroup, { uid })
    const group = { uid, createTime: '2001-01-01T00:00:00Z', resourceLimits: { idps: 3 } }
    const mask = 'uid,createTime,updateTime,resourceLimits,status'
    assert.deepEqual(await stage.succeed(updateGroup, { group, updateMask: mask }), before)
    assert.deepEqual(await stage.succeed(updateGroup, { group }), before)
  },

  async 'an update without changes keeps updateTime'(stage) {
    const uid = await makeGroup(stage)
    const before = await stage.succeed(getGroup, { uid })
    assert.deepEqual(await stage.succeed(updateGroup, { group: { uid } }), before)
    assert.deepEqual(await stage.succeed(updateGroup, { group: { uid, name: 'before' } }), before)
  },

  async 'a new value is validated as at creation'(stage) {
    const uid = await makeGroup(stage)
    const error = await stage.fail(updateGroup, { group: { uid, name: 'Not A Name' } })
    assert.equal(error.code, 3)
    assert.deepEqual(violations(error), ['name'])
  },

  async 'a mask with an unknown field is refused'(stage) {
    const uid = await makeGroup(stage)
    for (const updateMask of ['nope', 'name.first', 'name,nope']) {
      const error = await stage.fail(updateGroup, { group: { uid, name: 'after' }, updateMask })
      assert.equal(error.code, 3)
      assert.deepEqual(violations(error), ['updateMask'])
    }
    assert.equal((await stage.succeed(getGroup, { uid })).name, 'before')
  },
})
