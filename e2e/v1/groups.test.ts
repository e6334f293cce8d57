// Groups through v1, compared with v2.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupSchema, GroupsService, OrgKind } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { verifyOrganization } from '../../server/commands/verify.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { createMany } from '../../server/testing/create-many.ts'
import { detail, examples, make, violations } from '../contract/examples.ts'

const v1 = Groups.method
const v2 = GroupsService.method

const namesIn = (list: JsonObject) => (list.items as { name: string }[]).map(({ name }) => name)

examples('groups of v1', {
  async 'a group created by v1 is visible in v2'({ succeed, owner }) {
    const group = { name: 'team', description: 'of v1' }
    const { id, ...rest } = await succeed(v1.create, { parent: owner.organization, group })
    assert.deepEqual(rest, {
      ...group,
      resourceLimits: {},
      verified: false,
      kind: 'ORG_KIND_UNSPECIFIED',
      status: 'ORG_STATUS_UNSPECIFIED',
    })
    const { uid, name, description } = await succeed(v2.getGroup, { uid: id as string })
    assert.deepEqual({ uid, name, description }, { uid: id, ...group })
  },

  async 'a list has only the key "items" and contains every match'({ succeed, owner, platform }) {
    const parent = owner.organization
    assert.deepEqual(Object.keys(await succeed(v1.list, {})), ['items'])
    // More than the largest page of v2, which has 200 items.
    const copies = Array.from({ length: 205 }, (_, at) => {
      const uid = `${parent}/${at.toString(16).padStart(16, '0')}`
      return [create(GroupSchema, { name: `g${at % 5}` }), { uid, now: Date.now() }] as const
    })
    await platform.store.write(() => createMany(groups, copies))
    assert.equal(namesIn(await succeed(v1.list, { uidp: { childrenOf: parent } })).length, 205)
    assert.equal(namesIn(await succeed(v1.list, { uidp: { descendantsOf: parent }, name: 'g3' })).length, 41)
  },

  async 'a list with an id filter replaces Get, and is empty without a match'({
    succeed,
    fail,
    platform,
    owner,
  }) {
    const id = owner.organization
    const [group] = (await succeed(v1.list, { id })).items as JsonObject[]
    assert.deepEqual([group?.id, group?.name], [id, 'acme'])
    const nothing = { items: [] }
    assert.deepEqual(await succeed(v1.list, { id: '0'.repeat(40) }), nothing)
    assert.deepEqual(await succeed(v1.list, { id, uidp: { ids: ['0'.repeat(40)] } }), nothing)
    assert.equal(namesIn(await succeed(v1.list, { id, uidp: { ids: ['0'.repeat(40), id] } })).length, 1)
    assert.deepEqual(await succeed(v1.list, { uidp: { childrenOf: '0'.repeat(40) } }), nothing)
    const stranger = await platform.addIdentity('')
    assert.deepEqual(await succeed(v1.list, { id }, stranger.token), nothing)
    assert.equal((await fail(v1.list, { id }, 'x.y.z')).code, 16)
    assert.deepEqual(violations(await fail(v1.list, { id: 'acme' })), ['id'])
    assert.deepEqual(violations(await fail(v1.list, { id: 'acme', uidp: { ids: [id] } })), ['id'])
    assert.deepEqual(violations(await fail(v1.list, { uidp: { ids: ['acme'] } })), ['uidp.ids[0]'])
  },

  async 'an update replaces all fields'(stage) {
    const { succeed, fail, owner } = stage
    const group = { name: 'team', description: 'a word' }
    const id = await make(stage, v2.createGroup, { parent: owner.organization, group })
    assert.equal((await succeed(v1.update, { id, name: 'crew' })).description, '')
    const { name, description } = await succeed(v2.getGroup, { uid: id })
    assert.deepEqual({ name, description }, { name: 'crew', description: '' })
    assert.deepEqual(violations(await fail(v1.update, { id, description: 'nameless' })), ['name'])
    assert.equal((await fail(v1.update, { id, name: 'crew', verified: true })).code, 7)
    assert.deepEqual(violations(await fail(v1.create, { parent: id, group: { name: 'NO' } })), ['name'])
    assert.equal((await fail(v1.update, { id: `${id}/${'0'.repeat(16)}`, name: 'crew' })).code, 5)
  },

  async 'an update may repeat operator-only fields and must not omit them'({
    succeed,
    fail,
    platform,
    owner,
  }) {
    const id = owner.organization
    const name = `${id.slice(24)}.test`
    await succeed(v1.update, { id, name })
    await verifyOrganization(platform.store, id, { isVerified: true, kind: OrgKind.DEV, now: Date.now() })
    const update = { id, name, description: 'checked', verified: true, kind: 'ORG_KIND_DEV' }
    const { description, verified, kind } = await succeed(v1.update, update)
    assert.deepEqual([description, verified, kind], ['checked', true, 'ORG_KIND_DEV'])
    assert.equal((await fail(v1.update, { ...update, verified: false })).code, 7)
    assert.equal((await fail(v1.update, { id, name, verified: true })).code, 7)
  },

  async 'a parent can be given by name if the name is unique and the caller may see the group'({
    succeed,
    fail,
    platform,
    owner,
  }) {
    const make = (parent: string, name: string) => succeed(v1.create, { parent, group: { name } })
    const team = await make(owner.organization, 'only team')
    const inner = await make(team.name as string, 'inner')
    assert.ok((inner.id as string).startsWith(`${team.id}/`))
    await make(owner.organization, 'twin')
    await make(owner.organization, 'twin')
    assert.deepEqual(violations(await fail(v1.create, { parent: 'twin', group: { name: 'a' } })), ['parent'])
    const stranger = await platform.addIdentity('')
    const refusal = async (parent: string, token: string) => {
      const { code, message } = await fail(v1.create, { parent, group: { name: 'a' } }, token)
      return [code, message.replace(parent, '')]
    }
    const hidden = await refusal(team.name as string, stranger.token)
    assert.deepEqual(hidden, await refusal('no such name', stranger.token))
    assert.equal(hidden[0], 5)
    const viewer = await platform.addIdentity(owner.organization, 'viewer')
    assert.equal((await refusal(team.name as string, viewer.token))[0], 7)
  },

  async 'deleting a group that is not empty fails with a message and without details'(stage) {
    const { succeed, fail, owner } = stage
    const { id } = await succeed(v1.create, { parent: owner.organization, group: { name: 'team' } })
    const role = { name: 'reader', capabilities: ['CAP_IAM_GROUPS_LIST'] }
    const uid = await make(stage, RolesService.method.createRole, { parent: id as string, role })
    const error = await fail(v1.delete, { id: id as string })
    assert.deepEqual(
      [error.code, error.message],
      [9, 'Precondition failed: cannot delete group with child roles'],
    )
    assert.equal(detail(error, 'PreconditionFailure'), undefined)
    await succeed(RolesService.method.deleteRole, { uid })
    assert.deepEqual(await succeed(v1.delete, { id: id as string }), {})
    assert.deepEqual(await succeed(v1.list, { id: id as string }), { items: [] })
    assert.equal((await fail(v1.delete, { id: id as string })).code, 5)
  },
})
