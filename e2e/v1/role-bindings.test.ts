// Role bindings through v1: the list shows the identity, role and group in detail; other calls return only uids.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const v1 = RoleBindings.method
const v2 = RoleBindingsService.method

const viewer = builtInRole('viewer')
const editor = builtInRole('editor')
const claimMatch = { issuer: 'https://issuer.test', subject: 'robot' }

const makeRobot = (stage: ExampleContext) =>
  make(stage, IdentitiesService.method.createIdentity, {
    parent: stage.owner.organization,
    identity: { name: 'robot', claimMatch },
  })

async function bind(stage: ExampleContext): Promise<{ id: string; identity: string }> {
  const identity = await makeRobot(stage)
  const request = { parent: stage.owner.organization, roleBinding: { identity, role: viewer.uid } }
  const { id } = await stage.succeed(v1.create, request)
  return { id: id as string, identity }
}

const itemsOf = (list: JsonObject) => list.items as JsonObject[]

examples('role bindings of v1', {
  async 'a binding is returned with uids and is visible in v2'(stage) {
    const parent = stage.owner.organization
    const identity = await makeRobot(stage)
    const { id, ...rest } = await stage.succeed(v1.create, {
      parent,
      roleBinding: { identity, role: viewer.uid, group: 'whatever' },
    })
    assert.deepEqual(rest, { identity, group: parent, role: viewer.uid })
    const stored = await stage.succeed(v2.getRoleBinding, { uid: id as string })
    assert.equal((stored.identity as JsonObject).uid, identity)
    assert.equal((stored.role as JsonObject).name, 'viewer')
  },

  async 'the list shows identity, role and group'(stage) {
    const { id, identity } = await bind(stage)
    const [item, ...others] = itemsOf(await stage.succeed(v1.list, { id }))
    assert.deepEqual(others, [])
    const { createdAt, group, role, ...rest } = item as JsonObject
    assert.deepEqual(rest, {
      ...{ id, identity, email: '', emailUnverified: '' },
      ...{ claimMatchIssuer: claimMatch.issuer, claimMatchSubject: claimMatch.subject },
    })
    assert.equal(createdAt, (await stage.succeed(v2.getRoleBinding, { uid: id })).createTime)
    const { id: groupId, name } = group as JsonObject
    assert.deepEqual([groupId, name], [stage.owner.organization, 'acme'])
    assert.deepEqual([(role as JsonObject).id, (role as JsonObject).name], [viewer.uid, 'viewer'])
    const all = itemsOf(await stage.succeed(v1.list, { uidp: { childrenOf: stage.owner.organization } }))
    assert.equal(all.length, 2)
  },

  async 'the list shows a verified e-mail address'(stage) {
    const { platform, owner, succeed } = stage
    const person = await platform.addUser('ada@example.test')
    await platform.bind(person.identity, 'apk.pull', owner.organization)
    const roleBinding = { identity: person.identity, role: viewer.uid }
    const { id } = await succeed(v1.create, { parent: owner.organization, roleBinding })
    const [item] = itemsOf(await succeed(v1.list, { id: id as string }))
    assert.equal(item?.email, 'ada@example.test')
  },

  async 'an update replaces identity and role'(stage) {
    const { succeed, fail } = stage
    const { id, identity } = await bind(stage)
    const other = await makeRobot(stage)
    const changed = { id, identity: other, role: editor.uid }
    assert.deepEqual(await succeed(v1.update, changed), { ...changed, group: stage.owner.organization })
    const stored = await succeed(v2.getRoleBinding, { uid: id })
    assert.deepEqual(
      [(stored.identity as JsonObject).uid, (stored.role as JsonObject).uid],
      [other, editor.uid],
    )
    assert.deepEqual(violations(await fail(v1.update, { id, role: viewer.uid })), ['identity'])
    assert.deepEqual(violations(await fail(v1.update, { id, identity })), ['role'])
    assert.deepEqual(violations(await fail(v1.update, { id, identity, role: 'viewer' })), ['role'])
  },

  async 'a batch creates all bindings or none'(stage) {
    const { succeed, fail, owner } = stage
    const parent = owner.organization
    const identity = await makeRobot(stage)
    const roleBindings = [viewer, editor].map(({ uid }) => ({ identity, role: uid }))
    const batch = await succeed(v1.createBatch, { parent, roleBindings })
    const made = batch.roleBindings as JsonObject[]
    assert.deepEqual(
      made.map(({ role }) => role),
      [viewer.uid, editor.uid],
    )
    const count = async () => itemsOf(await succeed(v1.list, { uidp: { childrenOf: parent } })).length
    const before = await count()
    const other = await makeRobot(stage)
    const wrong = [{ identity: other, role: viewer.uid }, { identity: other }]
    assert.deepEqual(violations(await fail(v1.createBatch, { parent, roleBindings: wrong })), [
      'roleBindings[1].role',
    ])
    const twice = [{ identity: other, role: viewer.uid }, ...roleBindings]
    const error = await fail(v1.createBatch, { parent, roleBindings: twice })
    assert.equal(error.code, 6)
    assert.match(error.message, /^Already exists: role_?[bB]indings\[1\]: /)
    assert.deepEqual(violations(await fail(v1.createBatch, { parent, roleBindings: [] })), ['roleBindings'])
    assert.equal(await count(), before)
  },

  async 'deleting a deleted binding succeeds'(stage) {
    const { id } = await bind(stage)
    await stage.succeed(v1.delete, { id })
    assert.deepEqual(await stage.succeed(v1.list, { id }), { items: [] })
    await stage.succeed(v1.delete, { id })
  },
})
