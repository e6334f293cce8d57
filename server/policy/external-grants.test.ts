// Compares the grants of members of external groups, some of whom a provider has deactivated, with
// a simple model.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import fc from 'fast-check'
import { lineage } from '../aip/uid.ts'
import { allowAtProvider, blockAtProvider } from '../auth/provider-sign-outs.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { talliedKinds } from '../storage.ts'
import { checkTally } from '../store/check.ts'
import { neverExpires } from '../store/expiry.ts'
import { replaceMemberships, setGroupMembers } from '../store/external-groups.ts'
import { renderedRow } from '../store/row-query.ts'
import { sql } from '../store/sql.ts'
import type { Door } from '../testing/doors.ts'
import { restDoor } from '../testing/doors.ts'
import type { Platform } from '../testing/platform.ts'
import { startPlatform } from '../testing/platform.ts'
import { onEachStore } from '../testing/stores.ts'
import type { Caller } from '../wire/caller.ts'
import { builtInRole } from './built-in-roles.ts'
import { capabilityNamed } from './capabilities.ts'
import type { Grants } from './grants.ts'
import { grantsWithRow, lockGrants, readGrants, splitGrantsAndRow } from './read-grants.ts'

const { createExternalGroupRoleMapping, batchDeleteExternalGroupRoleMappings } =
  ExternalGroupRoleMappingsService.method
const { createIdentityProvider } = IdentityProvidersService.method
const { createGroup } = GroupsService.method

const groupIds = ['developers', 'operators', 'everyone']

/**
 * One provider is in the organization (level 0), the other in a group of it (level 1). Mappings
 * also use a group below that one (level 2).
 */
const providerLevels = [0, 1]

const mapping = fc.record({
  provider: fc.constantFrom(...providerLevels),
  group: fc.constantFrom(...groupIds),
  role: fc.constantFrom('viewer', 'editor', 'owner'),
  scope: fc.nat(2),
})
const someGroups = fc.subarray(groupIds)
const world = fc.record({
  // A provider grants nothing outside of its group.
  mappings: fc
    .uniqueArray(mapping, { maxLength: 6, selector: (entry) => JSON.stringify(entry) })
    .map((entries) => entries.filter(({ provider, scope }) => scope >= provider)),
  /** The groups of the person at each provider: those of the last sign-in, until `expires`, and provisioned ones. */
  signedIn: fc.tuple(someGroups, someGroups),
  provisioned: fc.tuple(someGroups, someGroups),
  expires: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
  /** Whether each provider has deactivated the person. */
  blocked: fc.tuple(fc.boolean(), fc.boolean()),
  time: fc.nat(4),
  scope: fc.nat(2),
})
type World = typeof world extends fc.Arbitrary<infer T> ? T : never

/**
 * The level of the group and the name of the role of each grant. The person is bound to two roles directly. A provider
 * that has deactivated the person suspends everything at and below its level.
 */
function grantsInModel({ mappings, signedIn, provisioned, expires, blocked, time }: World) {
  const isMember = (provider: number, group: string) =>
    provisioned[provider]?.includes(group) ||
    (signedIn[provider]?.includes(group) && (expires[provider] ?? 0) > time)
  const mapped = mappings.filter(({ provider, group }) => isMember(provider, group))
  const direct = [
    { scope: 0, role: 'editor' },
    { scope: 1, role: 'viewer' },
  ]
  return [...direct, ...mapped].filter(
    ({ scope }) => !providerLevels.some((level) => blocked[level] && scope >= level),
  )
}

const textOf = (group: string, bits: Iterable<number>) => `${group} ${[...bits].sort((a, b) => a - b)}`
const bitsOf = (role: string) =>
  builtInRole(role).capabilities.flatMap((name) => capabilityNamed(name)?.bit ?? [])

onEachStore('the grants of members of external groups', (engine) => {
  let platform: Platform
  let door: Door
  let scopes: string[]
  let providers: string[]
  let caller: Caller

  const make = async (method: DescMethodUnary, request: JsonObject) => {
    const { body, error } = await door.call(method, request, platform.owner.token)
    assert.equal(error, undefined)
    return body?.uid as string
  }
  const scopeAt = (level: number) => scopes[level] ?? ''

  before(async () => {
    platform = await startPlatform(engine)
    door = restDoor(platform.url)
    const { organization } = platform.owner
    const team = await make(createGroup, { parent: organization, group: { name: 'team' } })
    const project = await make(createGroup, { parent: team, group: { name: 'project' } })
    scopes = [organization, team, project]
    const oidc = { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'hush' }
    const identityProvider = { name: 'sso', defaultRole: builtInRole('viewer').uid, oidc }
    providers = []
    for (const level of providerLevels)
      providers.push(await make(createIdentityProvider, { parent: scopeAt(level), identityProvider }))
    const { identity } = await platform.addIdentity('', 'viewer', team)
    await platform.bind(identity, 'editor', organization)
    caller = { identity, issuedAt: Math.floor(Date.now() / 1000) }
  })
  after(() => {
    door.close()
    return platform.stop()
  })

  async function createMappings({ mappings }: World): Promise<void> {
    for (const { provider, group: externalGroupId, role, scope } of mappings)
      await make(createExternalGroupRoleMapping, {
        parent: providers[provider] ?? '',
        externalGroupRoleMapping: { externalGroupId, roleUid: builtInRole(role).uid, scope: scopeAt(scope) },
      })
  }

  async function deleteMappings(): Promise<void> {
    for (const parent of providers) {
      const rows = await platform.store.query(
        sql`select uid from external_group_role_mappings where parent = ${parent}`,
      )
      const names = rows.map(([uid]) => uid as string)
      if (names.length > 0) await make(batchDeleteExternalGroupRoleMappings, { parent, names })
    }
  }

  const setMembers = ({ signedIn, provisioned, expires }: World) =>
    platform.store.write(function* () {
      for (const [at, provider] of providers.entries()) {
        const [groups = [], expireTime = 0] = [signedIn[at], expires[at]]
        yield* replaceMemberships(provider, caller.identity, 'sign-in', groups, expireTime)
        for (const id of groupIds)
          yield* setGroupMembers(provider, id, provisioned[at]?.includes(id) ? [caller.identity] : [])
      }
    })

  const setBlocked = ({ blocked, time }: World) =>
    platform.store.write(function* () {
      for (const [at, provider] of providers.entries())
        yield* (blocked[at] ? blockAtProvider : allowAtProvider)(provider, caller.identity, time)
    })

  /** Two mappings may grant the same role in the same group. */
  const assertSame = (grants: Grants, expected: readonly string[]) =>
    assert.deepEqual(new Set(grants.list.map(({ group, bits }) => textOf(group, bits))), new Set(expected))

  test('come from their own role bindings and from unexpired memberships, except where a provider has deactivated them', async () => {
    const { store } = platform
    const property = fc.asyncProperty(world, async (example) => {
      await deleteMappings()
      await createMappings(example)
      await setMembers(example)
      await setBlocked(example)
      const { time, scope } = example
      const at = scopeAt(scope)
      const expected = grantsInModel(example)
      const all = expected.map((entry) => textOf(scopeAt(entry.scope), bitsOf(entry.role)))
      const inScope = all.filter((_, index) => (expected[index]?.scope ?? 0) <= scope)
      assertSame(await store.read(() => readGrants(caller, time, undefined)), all)
      assertSame(await store.read(() => readGrants(caller, time, at)), inScope)
      assertSame(await store.write(() => lockGrants({ caller, time }, undefined)), all)
      assertSame(await store.write(() => lockGrants({ caller, time }, at)), inScope)
      const query = renderedRow(groups.table, at, groups.forms.json, time)
      const reading = { caller, time, scope: at, query }
      const rows = await store.query(grantsWithRow(reading, lineage(at)))
      // For a deactivated person, this returns no row, and the grants are read by other statements.
      if (example.blocked.includes(true)) assert.equal(rows.length, 0, 'grantsWithRow returned a row')
      else assertSame(splitGrantsAndRow(reading, lineage(at), rows).grants, inScope)
    })
    await fc.assert(property, { numRuns: 25 })
    const differences = await checkTally(store, talliedKinds, false)
    assert.deepEqual(differences, [])
  })

  test('end with the membership or with the role binding of the group, whichever is first', async () => {
    const { store, owner } = platform
    const [provider = ''] = providers
    const now = Date.now()
    const [soon, later] = [now + 3_600_000, now + 7_200_000]
    await deleteMappings()
    const role = builtInRole('registry.pull').uid
    await make(createExternalGroupRoleMapping, {
      parent: provider,
      externalGroupRoleMapping: { externalGroupId: 'developers', roleUid: role, scope: owner.organization },
    })
    const [[binding] = []] = await store.query(sql`select b.uid from role_bindings b
      where b.role = ${role} and b.parent = ${owner.organization} and b.identity <> ${caller.identity}`)
    await store.write(() => allowAtProvider(provider, caller.identity, now))
    for (const [member, bound, expected] of [
      [later, soon, soon],
      [soon, later, soon],
      [later, neverExpires, later],
    ] as const) {
      await store.write(function* () {
        yield sql`update role_bindings set expire_time = ${bound} where uid = ${binding as string}`
        yield* replaceMemberships(provider, caller.identity, 'sign-in', ['developers'], member)
      })
      for (const { list } of [
        await store.read(() => readGrants(caller, now, undefined)),
        await store.write(() => lockGrants({ caller, time: now }, undefined)),
      ])
        assert.deepEqual(
          list.flatMap(({ until }) => until ?? []),
          [expected],
        )
    }
  })
})
