// The entries of the event log for changes of resources, and the actors that they name.
import assert from 'node:assert/strict'
import { fromBinary } from '@bufbuild/protobuf'
import { GroupSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import {
  RoleBindingSchema,
  RoleBindingsService,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { SealedEvent } from '../../server/store/events/event-row.ts'
import { chainHash } from '../../server/store/events/event-row.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make } from '../contract/examples.ts'

const { createGroup, updateGroup, deleteGroup } = GroupsService.method
const { createRoleBinding, updateRoleBinding, deleteRoleBinding } = RoleBindingsService.method
const { createIdentityProvider } = IdentityProvidersService.method

/** Runs `act` and returns the events of the organization that it caused. */
async function eventsOf({ platform, owner }: ExampleContext, act: () => Promise<unknown>) {
  const before = await sealedEvents(platform.store, owner.organization)
  await act()
  return sealedEvents(platform.store, owner.organization, before.at(-1)?.sequence)
}

const factsOf = ({ action, kind, uid, group, method, actor }: SealedEvent) => ({
  ...{ action, kind, uid, group, method: method.split('.').at(-1), actor },
})

const groupIn = (bytes: Uint8Array | null | undefined) => bytes && fromBinary(GroupSchema, bytes)
const bindingIn = (bytes: Uint8Array | null | undefined) => bytes && fromBinary(RoleBindingSchema, bytes)

examples('the event log', {
  async 'has one event for each change of a resource, with the resource before and after'(context) {
    const { succeed, owner } = context
    const parent = owner.organization
    let uid = ''
    const [created, updated, deleted, ...others] = await eventsOf(context, async () => {
      uid = await make(context, createGroup, { parent, group: { name: 'team' } })
      await succeed(updateGroup, { group: { uid, name: 'crew' } })
      await succeed(updateGroup, { group: { uid, name: 'crew' } }) // changes nothing
      await succeed(deleteGroup, { uid })
    })
    assert.deepEqual(others, [])
    const common = { kind: 'groups', uid, actor: owner.identity }
    assert.deepEqual(
      [created, updated, deleted].map((event) => event && factsOf(event)),
      [
        { ...common, action: 'created', group: uid, method: 'CreateGroup' },
        { ...common, action: 'updated', group: uid, method: 'UpdateGroup' },
        { ...common, action: 'deleted', group: parent, method: 'DeleteGroup' },
      ],
    )
    const names = [created, updated, deleted].map((event) => [
      groupIn(event?.before)?.name,
      groupIn(event?.after)?.name,
    ])
    assert.deepEqual(names, [
      [undefined, 'team'],
      ['team', 'crew'],
      ['crew', undefined],
    ])
  },

  async 'shows the identity and the role of a role binding, before and after'(context) {
    const { succeed, owner, platform } = context
    const { identity } = await platform.addIdentity(owner.organization, 'viewer')
    const role = (name: string) => builtInRole(name).uid
    const [created, updated, deleted] = await eventsOf(context, async () => {
      const roleBinding = { identityUid: identity, roleUid: role('editor') }
      const uid = await make(context, createRoleBinding, { parent: owner.organization, roleBinding })
      await succeed(updateRoleBinding, { roleBinding: { uid, roleUid: role('owner') } })
      await succeed(deleteRoleBinding, { uid })
    })
    const rolesOf = (event: SealedEvent | undefined) => [
      bindingIn(event?.before)?.role?.uid,
      bindingIn(event?.after)?.role?.uid,
    ]
    assert.deepEqual(rolesOf(created), [undefined, role('editor')])
    assert.deepEqual(rolesOf(updated), [role('editor'), role('owner')])
    assert.deepEqual(rolesOf(deleted), [role('owner'), undefined])
    assert.equal(bindingIn(deleted?.before)?.identity?.uid, identity)
  },

  async 'names the door, the address, the client and the request'(context) {
    const { owner, door } = context
    const [event] = await eventsOf(context, () =>
      make(context, createGroup, { parent: owner.organization, group: { name: 'team' } }),
    )
    const origin = JSON.parse(event?.origin ?? '{}') as Record<string, string>
    const isRest = door.name === 'REST'
    assert.equal(origin.door, isRest ? 'rest' : 'grpc')
    assert.match(origin.address ?? '', /127\.0\.0\.1/)
    assert.match(origin.requestId ?? '', /./)
    // The REST client of the tests sends no User-Agent header.
    assert.match(origin.userAgent ?? '', isRest ? /^$/ : /^grpc-/)
  },

  async 'never contains input-only fields'(context) {
    const { owner } = context
    const oidc = { issuer: 'https://accounts.example.com', clientId: 'id', clientSecret: 'very-secret' }
    const events = await eventsOf(context, () =>
      make(context, createIdentityProvider, {
        parent: owner.organization,
        identityProvider: { name: 'sso', defaultRole: builtInRole('viewer').uid, oidc },
      }),
    )
    assert.equal(events.length, 1)
    for (const { before, after, details, origin } of events)
      assert.doesNotMatch(
        Buffer.concat([before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)]).toString('latin1') +
          details +
          origin,
        /very-secret/,
      )
  },

  async 'numbers the events of an organization and chains their hashes'(context) {
    const { owner, platform } = context
    for (const name of ['a', 'b', 'c'])
      await make(context, createGroup, { parent: owner.organization, group: { name } })
    const events = await sealedEvents(platform.store, owner.organization)
    let hash = ''
    for (const [at, event] of events.entries()) {
      assert.equal(event.sequence, at + 1)
      assert.equal(event.hash, chainHash(hash, event.sequence, event))
      hash = event.hash
    }
  },
})
