import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import type { Store } from './db.ts'
import { neverExpires } from './expiry.ts'
import type { MembershipSource } from './external-groups.ts'
import {
  addMembers,
  deleteExpiredMemberships,
  externalGroupUid,
  makeRoom,
  removeAllMemberships,
  removeMembers,
  removeMembersOf,
  removeMembersOfGroup,
  replaceMemberships,
  setGroupMembers,
} from './external-groups.ts'
import { maxMemberships } from './membership-limits.ts'
import { raw, sql } from './sql.ts'
import { insertRows } from './table.ts'
import { onEachMigrated, openMigrated } from './test-stores.ts'
import type { Work } from './work.ts'

const uidOf = (digit: string) => digit.repeat(40)
const organization = uidOf('a')
const role = uidOf('b')
const providers = ['1', '2'].map((digit) => `${organization}/${digit.repeat(16)}`)
const [sso = '', otherSso = ''] = providers
const people = ['c', 'd', 'e'].map(uidOf)
const [ada = '', grace = '', edsger = ''] = people
const stranger = uidOf('f')
/** Each is mapped to a role, at both providers. There are more than an identity can be a member of. */
const numbered = Array.from({ length: 150 }, (_, at) => `group ${at}`)
const mappedGroups = ['developers', 'operators', 'owners', ...numbered]

function* insertAll(): Work<void> {
  const stored = ['uid', 'parent', 'root', 'name', 'create_time', 'update_time', 'proto', 'json', 'shape']
  const rowOf = (uid: string, parent: string | null) =>
    [uid, parent, uid.slice(0, 40), 'x', 1, 1, new Uint8Array(), '{}', 'x'] as const
  yield* insertRows('groups', stored, [rowOf(organization, null)])
  yield* insertRows('roles', [...stored, 'bits'], [[...rowOf(role, null), '']])
  yield* insertRows(
    'identity_providers',
    [...stored, 'default_role', 'client_secret', 'issuer'],
    providers.map((uid) => [...rowOf(uid, organization), role, '', '']),
  )
  yield* insertRows(
    'identities',
    stored,
    people.map((uid) => rowOf(uid, null)),
  )
  yield* insertMappings(stored, rowOf)
}

function* insertMappings(
  stored: string[],
  rowOf: (uid: string, parent: string | null) => readonly (string | number | null | Uint8Array)[],
): Work<void> {
  const groups = providers.flatMap((provider) =>
    mappedGroups.map((id) => ({ provider, uid: externalGroupUid(provider, id) })),
  )
  const childOf = (parent: string, at: number) => `${parent}/${at.toString(16).padStart(16, '0')}`
  yield* insertRows(
    'identities',
    stored,
    groups.map(({ uid }) => rowOf(uid, null)),
  )
  yield* insertRows(
    'role_bindings',
    [...stored, 'identity', 'role'],
    groups.map(({ uid }, at) => [...rowOf(childOf(organization, at), organization), uid, role]),
  )
  yield* insertRows(
    'external_group_role_mappings',
    [...stored, 'external_group', 'binding'],
    groups.map(({ provider, uid }, at) => [
      ...rowOf(childOf(provider, at), provider),
      ...[uid, childOf(organization, at)],
    ]),
  )
}

type Membership = { identity: string; group: string; source: MembershipSource; expires: number }

const textOf = ({ identity, group, source, expires }: Membership) =>
  [identity, group, source, expires].join(' ')

onEachMigrated(['SQLite', 'PostgreSQL'], 'members of external groups', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
    await store.write(insertAll)
  })

  const clear = () =>
    store.write(function* () {
      yield raw('delete from external_group_members')
      yield raw('update identities set external_until = null')
    })

  /** The memberships as sorted texts. Asserts that each identity has the latest expiry of its memberships. */
  async function memberships(): Promise<string[]> {
    const rows = await store.query(
      sql`select identity, external_group, source, expire_time from external_group_members`,
    )
    const latest = await store.query(sql`select uid, external_until from identities`)
    for (const [uid, until] of latest) {
      const times = rows.filter(([identity]) => identity === uid).map((row) => row[3] as number)
      assert.equal(until, times.length > 0 ? Math.max(...times) : null)
    }
    return rows.map((row) => row.join(' ')).sort()
  }

  const inSso = (groupId: string) => externalGroupUid(sso, groupId)

  test('a sign-in replaces the groups of its own provider and source only', async () => {
    await clear()
    await store.write(function* () {
      yield* replaceMemberships(sso, ada, 'sign-in', ['developers', 'owners', 'owners'], 100)
      yield* replaceMemberships(otherSso, ada, 'sign-in', ['developers'], 200)
      yield* addMembers(sso, 'developers', [ada, grace])
      yield* replaceMemberships(sso, ada, 'sign-in', ['operators'], 300)
    })
    assert.deepEqual(
      await memberships(),
      [
        `${ada} ${inSso('operators')} sign-in 300`,
        `${ada} ${externalGroupUid(otherSso, 'developers')} sign-in 200`,
        `${ada} ${inSso('developers')} scim ${neverExpires}`,
        `${grace} ${inSso('developers')} scim ${neverExpires}`,
      ].sort(),
    )
  })

  test('setting the members of a group keeps memberships in other groups', async () => {
    await clear()
    await store.write(function* () {
      yield* addMembers(sso, 'developers', [ada, grace])
      yield* addMembers(sso, 'operators', [ada])
      yield* setGroupMembers(sso, 'developers', [grace, edsger])
    })
    const expected = [
      [ada, 'operators'],
      [grace, 'developers'],
      [edsger, 'developers'],
    ].map(([identity, group]) => `${identity} ${inSso(group ?? '')} scim ${neverExpires}`)
    assert.deepEqual(await memberships(), expected.sort())
    await store.write(() => setGroupMembers(sso, 'developers', []))
    assert.deepEqual(await memberships(), [`${ada} ${inSso('operators')} scim ${neverExpires}`])
  })

  test('identities and providers that do not exist are skipped', async () => {
    await clear()
    await store.write(function* () {
      yield* addMembers(sso, 'developers', [stranger, ada])
      yield* replaceMemberships(sso, stranger, 'sign-in', ['developers'], 100)
      yield* addMembers(`${organization}/${'9'.repeat(16)}`, 'developers', [ada])
    })
    assert.deepEqual(await memberships(), [`${ada} ${inSso('developers')} scim ${neverExpires}`])
  })

  test('groups without a role mapping have no members', async () => {
    await clear()
    const ignored = await store.write(function* () {
      const counts = [yield* replaceMemberships(sso, ada, 'sign-in', ['unmapped', 'developers'], 100)]
      counts.push(yield* addMembers(sso, 'unmapped', [ada]))
      counts.push(yield* setGroupMembers(sso, 'unmapped', [ada, grace]))
      return counts
    })
    assert.deepEqual(ignored, [0, 0, 0])
    assert.deepEqual(await memberships(), [`${ada} ${inSso('developers')} sign-in 100`])
  })

  test('an identity has at most 100 memberships over all providers and sources', async () => {
    await clear()
    const counts = await store.write(function* () {
      const ignored = [yield* replaceMemberships(sso, ada, 'scim', numbered.slice(0, 60), neverExpires)]
      ignored.push(yield* replaceMemberships(otherSso, ada, 'sign-in', numbered.slice(0, 30), 100))
      ignored.push(yield* replaceMemberships(otherSso, ada, 'scim', numbered.slice(0, 30), neverExpires))
      ignored.push(yield* addMembers(sso, 'developers', [ada, grace]))
      // She is already a member.
      ignored.push(yield* addMembers(sso, 'group 0', [ada]))
      return ignored
    })
    assert.deepEqual(counts, [0, 0, 20, 1, 0])
    const all = await memberships()
    assert.equal(all.filter((text) => text.startsWith(ada)).length, maxMemberships)
    assert.ok(all.includes(`${grace} ${inSso('developers')} scim ${neverExpires}`))
  })

  test('a sign-in ends memberships through other providers if there is no room for its own', async () => {
    await clear()
    const providersOfAda = async () => {
      const rows = await store.query(sql`select provider, source, count(*) from external_group_members
        where identity = ${ada} group by provider, source order by provider, source`)
      return rows.map(([provider, source, count]) => [provider === sso, source, count])
    }
    const enter = (groups: string[]) =>
      store.write(function* () {
        yield* makeRoom(sso, ada, 'sign-in', groups)
        return yield* replaceMemberships(sso, ada, 'sign-in', groups, 100)
      })
    await store.write(function* () {
      yield* replaceMemberships(otherSso, ada, 'scim', numbered.slice(0, 80), neverExpires)
      yield* replaceMemberships(sso, ada, 'scim', ['developers'], neverExpires)
    })
    assert.equal(await enter(numbered.slice(0, 19)), 0)
    assert.deepEqual(await providersOfAda(), [
      [true, 'scim', 1],
      [true, 'sign-in', 19],
      [false, 'scim', 80],
    ])
    assert.equal(await enter(numbered.slice(0, 20)), 0)
    assert.deepEqual(await providersOfAda(), [
      [true, 'scim', 1],
      [true, 'sign-in', 20],
    ])
    assert.equal(await enter(numbered), 51)
    await memberships()
  })

  test('the members of one group can be deleted, from both sources', async () => {
    await clear()
    await store.write(function* () {
      yield* addMembers(sso, 'developers', [ada, grace])
      yield* replaceMemberships(sso, ada, 'sign-in', ['developers', 'owners'], 100)
      yield* removeMembersOfGroup(inSso('developers'))
    })
    assert.deepEqual(await memberships(), [`${ada} ${inSso('owners')} sign-in 100`])
  })

  test('expired memberships are deleted in batches', async () => {
    await clear()
    await store.write(function* () {
      for (const person of people)
        yield* replaceMemberships(sso, person, 'sign-in', ['developers', 'owners'], 100)
      yield* addMembers(sso, 'developers', [ada])
    })
    const mayBeMore: boolean[] = []
    do mayBeMore.push(await store.write(() => deleteExpiredMemberships(100, 2)))
    while (mayBeMore.at(-1))
    assert.deepEqual(mayBeMore, [true, false])
    assert.deepEqual(await memberships(), [`${ada} ${inSso('developers')} scim ${neverExpires}`])
  })

  test('the members of all groups of a provider can be deleted', async () => {
    await clear()
    await store.write(function* () {
      yield* addMembers(sso, 'developers', [ada, grace])
      yield* replaceMemberships(otherSso, ada, 'sign-in', ['developers'], 100)
      yield* removeMembersOf(sso)
    })
    assert.deepEqual(await memberships(), [`${ada} ${externalGroupUid(otherSso, 'developers')} sign-in 100`])
  })

  test('the members of a group can be set with more uids than a statement has placeholders for', async () => {
    await clear()
    const many = Array.from({ length: 40_000 }, (_, at) => at.toString(16).padStart(40, '0'))
    await store.write(() => setGroupMembers(sso, 'developers', [...many, ada]))
    assert.deepEqual(await memberships(), [`${ada} ${inSso('developers')} scim ${neverExpires}`])
  })

  test('any sequence of changes leaves the memberships that a simple model has', async () => {
    const provider = fc.constantFrom(...providers)
    const person = fc.constantFrom(...people)
    const group = fc.constantFrom('developers', 'operators', 'owners')
    const anyPeople = fc.array(person, { maxLength: 3 })
    const changes = fc.array(
      fc.oneof(
        fc.record({
          kind: fc.constant('replace' as const),
          ...{
            provider,
            person,
            groups: fc.array(group, { maxLength: 3 }),
            expires: fc.integer({ min: 1, max: 9 }),
          },
        }),
        fc.record({ kind: fc.constantFrom('set', 'add', 'remove'), provider, group, people: anyPeople }),
        fc.record({ kind: fc.constant('remove all' as const), provider, person }),
      ),
      { maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(changes, async (sequence) => {
        await clear()
        let model: (Membership & { provider: string })[] = []
        for (const change of sequence) {
          const { provider } = change
          const ofProvider = (membership: { provider: string }) => membership.provider === provider
          if ('groups' in change) {
            const { person: identity, groups, expires } = change
            await store.write(() => replaceMemberships(provider, identity, 'sign-in', groups, expires))
            model = model.filter(
              (entry) => !(ofProvider(entry) && entry.identity === identity && entry.source === 'sign-in'),
            )
            for (const id of new Set(groups))
              model.push({
                ...{ provider, identity, source: 'sign-in', expires },
                group: externalGroupUid(provider, id),
              })
          } else if ('group' in change) {
            const { kind, people: changed } = change
            const apply = { set: setGroupMembers, add: addMembers, remove: removeMembers }[kind]
            await store.write(() => apply?.(provider, change.group, changed) as Work<number>)
            const group = externalGroupUid(provider, change.group)
            model = model.filter((entry) => {
              const isOfGroup = entry.group === group && entry.source === 'scim'
              return !isOfGroup || (kind !== 'set' && !changed.includes(entry.identity))
            })
            if (kind !== 'remove')
              for (const identity of new Set(changed))
                model.push({ provider, identity, group, source: 'scim', expires: neverExpires })
          } else {
            await store.write(() => removeAllMemberships(provider, change.person))
            model = model.filter((entry) => !(ofProvider(entry) && entry.identity === change.person))
          }
        }
        assert.deepEqual(await memberships(), model.map(textOf).sort())
      }),
      { numRuns: 30 },
    )
  })
})

onEachMigrated(['PostgreSQL'], 'deleting a batch of memberships in external groups', (testStore) => {
  /** Performs the work, and deletes the identity after the first statement. */
  function* deletingAfterFirst<T>(work: Work<T>, identity: string): Work<T> {
    const first = work.next()
    if (first.done) return first.value
    const rows = yield first.value
    yield* testStore().runElsewhere(sql`delete from identities where uid = ${identity} returning uid`)
    let step = work.next(rows)
    while (!step.done) step = work.next(yield step.value)
    return step.value
  }

  test('skips members whose identity is deleted meanwhile', async () => {
    const store = await openMigrated(testStore())
    await store.write(insertAll)
    await store.write(function* () {
      yield* addMembers(sso, 'developers', [ada])
      yield* addMembers(otherSso, 'developers', [grace])
      yield* addMembers(otherSso, 'owners', [edsger])
    })
    const removals: [work: () => Work<boolean>, deleted: string][] = [
      [() => removeMembersOf(sso), ada],
      [() => removeMembersOfGroup(externalGroupUid(otherSso, 'developers')), grace],
    ]
    for (const [remove, deleted] of removals)
      assert.equal(await store.write(() => deletingAfterFirst(remove(), deleted)), false)
    const rows = await store.query(sql`select identity from external_group_members`)
    assert.deepEqual(rows, [[edsger]])
  })
})
