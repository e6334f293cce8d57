// The caller's own identity: its roles and its deletion.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { examples, make } from '../contract/examples.ts'

const { validate, delete: remove } = Auth.method
const { createGroup, listGroups } = GroupsService.method
const { exchange } = SecurityTokenService.method

type GroupCapabilities = {
  group: JsonObject
  role?: JsonObject & { capabilities: string[] }
  capabilities: string[]
}

examples('the caller', {
  async 'learns who they are and which roles they have in which groups'(stage) {
    const { succeed, owner, platform } = stage
    const team = await make(stage, createGroup, { parent: owner.organization, group: { name: 'team' } })
    const person = await platform.addUser('person@example.com')
    await platform.bind(person.identity, 'viewer', team)
    await platform.bind(person.identity, 'apk.pull', owner.organization)
    const me = await succeed(validate, {}, person.token)
    assert.deepEqual(
      [me.subject, me.issuer, me.audience],
      [person.identity, 'http://stemma.test', ['http://stemma.test']],
    )
    assert.equal(me.email, 'person@example.com')
    assert.equal(Date.parse(me.expiry as string) - Date.parse(me.issuedAt as string), 3_600_000)
    const entries = me.capabilities as GroupCapabilities[]
    assert.deepEqual(
      entries.map(({ group, role }) => [group.id, role?.name]),
      [
        [owner.organization, 'apk.pull'],
        [team, 'viewer'],
      ],
    )
    assert.deepEqual(entries[0]?.role?.capabilities, ['groups.list', 'apk.list', 'apk.blobs.get'])
  },

  async 'with a limited token receives the capabilities that the token allows'({ succeed, owner }) {
    const { token } = await succeed(exchange, {
      identity: owner.identity,
      cap: ['groups.list', 'roles.list'],
    })
    const me = await succeed(validate, {}, token as string)
    assert.deepEqual(
      (me.capabilities as GroupCapabilities[]).map(({ group, role, capabilities }) => [
        group.id,
        role,
        capabilities,
      ]),
      [[owner.organization, undefined, ['groups.list', 'roles.list']]],
    )
  },

  async 'can delete themselves if they are a person, and cannot delete others'(stage) {
    const { succeed, fail, owner, platform } = stage
    const person = await platform.addUser('person@example.com')
    await platform.bind(person.identity, 'viewer', owner.organization)
    const other = await platform.addUser('other@example.com')
    for (const token of [other.token, owner.token])
      assert.equal((await fail(remove, { id: person.identity }, token)).code, 7)
    assert.deepEqual(await succeed(remove, { id: person.identity }, person.token), {})
    assert.equal((await fail(listGroups, {}, person.token)).code, 16)
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  },
})
