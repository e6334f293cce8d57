// The audit log over the API: lists, filters, visibility, and exports.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { AuditEntriesService } from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import type { Region } from '../../server/aip/region.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { rootsIn } from '../../server/resources/audit/selection.ts'
import { countEntries, findEntries } from '../../server/store/events/find-entries.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const { getAuditEntry, listAuditEntries, exportAuditEntries } = AuditEntriesService.method
const { createGroup, updateGroup, deleteGroup } = GroupsService.method
const { createRoleBinding } = RoleBindingsService.method

type Entry = {
  uid: string
  time: string
  action: string
  code: number
  group: string
  method: string
  sequence: string
  actor: Record<string, string>
  resource: Record<string, string>
  changes: JsonObject[]
}

const entriesIn = (list: JsonObject) => list.entries as unknown as Entry[]

const inOrder = { orderBy: 'time' }

/** Creates, renames and deletes a group, and creates another one. Returns the uids of both. */
async function changeGroups(context: ExampleContext) {
  const parent = context.owner.organization
  const team = await make(context, createGroup, { parent, group: { name: 'team' } })
  await context.succeed(updateGroup, { group: { uid: team, name: 'crew' } })
  const other = await make(context, createGroup, { parent, group: { name: 'other' } })
  await context.succeed(deleteGroup, { uid: team })
  return { team, other }
}

examples('the audit log', {
  async 'lists who changed which fields of a resource, with the old and new values'(context) {
    const { succeed, owner } = context
    const { team } = await changeGroups(context)
    const list = await succeed(listAuditEntries, { ...inOrder, resource: team })
    const entries = entriesIn(list)
    assert.deepEqual(
      entries.map(({ action, resource, changes }) => [action, resource.name, changes]),
      [
        ['created', 'team', [{ path: 'name', after: 'team', truncated: false, hidden: false }]],
        [
          'updated',
          'crew',
          [{ path: 'name', before: 'team', after: 'crew', truncated: false, hidden: false }],
        ],
        ['deleted', 'crew', [{ path: 'name', before: 'crew', truncated: false, hidden: false }]],
      ],
    )
    for (const { actor, code } of entries) assert.deepEqual([actor.identity, code], [owner.identity, 0])
    assert.equal(list.totalCount, '3')
    const { method } = entries[1] as Entry
    assert.equal(method, 'platform.iam.v2beta1.GroupsService.UpdateGroup')
  },

  async 'filters by actor, kind, action, method, time and outcome'(context) {
    const { succeed, owner } = context
    await changeGroups(context)
    const count = async (filter: JsonObject) => {
      const { totalCount } = await succeed(listAuditEntries, {
        kind: 'groups',
        actor: owner.identity,
        ...filter,
      })
      return Number(totalCount)
    }
    const own = { kind: 'groups', actor: owner.identity, ...inOrder }
    const [first] = entriesIn(await succeed(listAuditEntries, own))
    const { time = '' } = first ?? {}
    assert.equal(await count({}), 4)
    assert.equal(await count({ action: 'created' }), 2)
    assert.equal(await count({ method: 'platform.iam.v2beta1.GroupsService.DeleteGroup' }), 1)
    assert.equal(await count({ actor: '0'.repeat(40) }), 0)
    assert.equal(await count({ startTime: time }), 4)
    assert.equal(await count({ endTime: time }), 0)
    const justAfter = time.replace('Z', '001Z')
    const [start, end] = [await count({ startTime: justAfter }), await count({ endTime: justAfter })]
    assert.deepEqual([start + end, end > 0], [4, true], 'a time between two milliseconds is not rounded down')
    assert.equal(await count({ outcome: 'AUDIT_OUTCOME_SUCCESS' }), 4)
    assert.equal(await count({ outcome: 'AUDIT_OUTCOME_FAILURE' }), 0)
  },

  async 'has pages in both orders, without gaps or repetitions'(context) {
    const { succeed, fail } = context
    await changeGroups(context)
    for (const orderBy of ['time', 'time desc', '']) {
      const all = entriesIn(await succeed(listAuditEntries, { orderBy }))
      const seen: string[] = []
      for (let pageToken = '', isFirst = true; isFirst || pageToken !== ''; isFirst = false) {
        const page = await succeed(listAuditEntries, { orderBy, pageSize: 3, pageToken })
        assert.equal(page.totalCount, String(all.length))
        seen.push(...entriesIn(page).map(({ uid }) => uid))
        pageToken = (page.nextPageToken as string | undefined) ?? ''
      }
      assert.deepEqual(
        seen,
        all.map(({ uid }) => uid),
      )
      const times = all.map(({ time }) => time)
      assert.deepEqual(times, orderBy === 'time' ? times.toSorted() : times.toSorted().reverse())
      const skipped = entriesIn(await succeed(listAuditEntries, { orderBy, pageSize: 1, skip: 2 }))
      assert.equal(skipped[0]?.uid, all[2]?.uid)
    }
    assert.deepEqual(violations(await fail(listAuditEntries, { orderBy: 'name' })), ['orderBy'])
  },

  async 'counts the skipped entries of each organization towards the limit of rows'(context) {
    const { succeed, owner, platform } = context
    await changeGroups(context)
    await succeed(listAuditEntries, {}) // waits until the events are sealed
    const { organization } = await platform.addOrganization('elsewhere')
    const find = async (roots: string[], skip: number) =>
      platform.store.read(() =>
        findEntries({
          ...{ filters: [], descending: false, after: undefined, skip, size: 1, maxRows: 5000 },
          roots: roots.map((root) => ({ root, condition: undefined })),
        }),
      )
    assert.equal((await find([owner.organization, organization], 1)).events.length, 1)
    assert.deepEqual(await find([organization], 3000), { events: [], next: undefined })
    await assert.rejects(find([owner.organization, organization], 3000), { kind: 'expensive' })
  },

  async 'is for owners, each in their own organization and groups'(context) {
    const { succeed, fail, owner, platform } = context
    const { team, other } = await changeGroups(context)
    const entry = entriesIn(await succeed(listAuditEntries, { resource: other }))[0] as Entry
    assert.deepEqual((await succeed(getAuditEntry, { uid: entry.uid })).uid, entry.uid)
    const elsewhere = await platform.addOrganization('elsewhere')
    for (const { token } of [elsewhere, await platform.addIdentity(owner.organization, 'viewer')]) {
      assert.equal((await fail(getAuditEntry, { uid: entry.uid }, token)).code, 7)
      const list = await succeed(listAuditEntries, { uidp: { descendantsOf: owner.organization } }, token)
      assert.deepEqual([list.entries, list.totalCount], [[], '0'])
    }
    const local = await platform.addIdentity(other, 'owner')
    const seen = entriesIn(await succeed(listAuditEntries, {}, local.token))
    assert.ok(seen.length > 0 && seen.every(({ group }) => group === other))
    assert.ok(!seen.some(({ resource }) => resource.uid === team))
    // The sequence number alone names no entry: the group in front of it must be the right one.
    const forged = `${other}/${entriesIn(await succeed(listAuditEntries, inOrder))[0]?.uid.slice(-16)}`
    assert.equal((await fail(getAuditEntry, { uid: forged }, local.token)).code, 5)
  },

  async 'lists the entries of a part of the tree'(context) {
    const { succeed, owner } = context
    const { other } = await changeGroups(context)
    const { identity } = await context.platform.addIdentity(owner.organization, 'viewer')
    const roleBinding = { identityUid: identity, roleUid: builtInRole('viewer').uid }
    const binding = await make(context, createRoleBinding, { parent: other, roleBinding })
    const below = entriesIn(await succeed(listAuditEntries, { uidp: { descendantsOf: other }, ...inOrder }))
    assert.deepEqual(
      below.map(({ resource }) => resource.uid),
      [other, binding],
    )
    const direct = entriesIn(await succeed(listAuditEntries, { uidp: { childrenOf: owner.organization } }))
    assert.ok(direct.length > 0 && direct.every(({ group }) => group === owner.organization))
    const [entry] = below
    const byUid = await succeed(listAuditEntries, { uidp: { ids: [entry?.uid ?? ''] } })
    assert.deepEqual([entriesIn(byUid).length, byUid.totalCount], [1, '1'])
  },

  async 'lists the entries of 1000 uids or groups of one organization'(context) {
    const { succeed, owner, platform, door } = context
    const { other } = await changeGroups(context)
    const [entry] = entriesIn(await succeed(listAuditEntries, { resource: other }))
    if (door.name === 'REST') return // so many uids do not fit into a URL
    const { uid = '', group = '' } = entry ?? {}
    const below = Array.from({ length: 999 }, (_, at) => `${group}/${String(at).padStart(16, '0001')}`)
    const belowThese = below.map((parent) => `${parent}/${'0'.repeat(16)}`)
    for (const others of [below, belowThese]) {
      const request = { uidp: { ids: [...others, uid] } }
      const list = await door.call(listAuditEntries, request, owner.token)
      assert.deepEqual([list.body?.totalCount, entriesIn(list.body ?? {})[0]?.uid], ['1', uid])
      const { body } = await door.call(exportAuditEntries, request, owner.token)
      assert.equal((body?.documents as JsonObject[]).length, 1)
    }
    for (const kind of ['tree', 'children'] as const) {
      const regions: Region[] = below.map((parent) => ({ kind, uid: parent }))
      const selection = { roots: rootsIn([...regions, { kind: 'point', uid }]), filters: [] }
      const page = { descending: false, after: undefined, skip: 0, size: 2, maxRows: undefined }
      const { events } = await platform.store.read(() => findEntries({ ...selection, ...page }))
      const count = await platform.store.read(() => countEntries(selection))
      assert.deepEqual([events.map(({ sequence }) => String(sequence)), count], [[entry?.sequence], 1])
    }
  },

  async 'has no entry with a number that is larger than any sequence number'(context) {
    const { owner, succeed, fail } = context
    const uid = `${owner.organization}/ffffffffffffffff`
    assert.equal((await fail(getAuditEntry, { uid })).code, 5)
    for (const uidp of [{ ids: [uid] }, { ancestorsOf: `${uid}/${'0'.repeat(16)}` }])
      assert.deepEqual(entriesIn(await succeed(listAuditEntries, { uidp })), [])
  },

  async 'is exported as a stream of entries, or in the Elastic Common Schema'(context) {
    const { succeed, owner, door } = context
    const { other } = await changeGroups(context)
    const all = entriesIn(await succeed(listAuditEntries, { ...inOrder, pageSize: 200 }))
    const exported = (await succeed(exportAuditEntries, {})).documents as JsonObject[]
    assert.deepEqual(
      exported.map(({ uid }) => uid),
      all.map(({ uid }) => uid),
    )
    // Not `succeed`, which requires that both doors return the same: only the gRPC client sends a
    // user agent.
    const { body } = await door.call(
      exportAuditEntries,
      { resource: other, format: 'AUDIT_FORMAT_ECS' },
      owner.token,
    )
    const [ecs] = (body?.documents ?? []) as Record<string, JsonObject>[]
    assert.deepEqual(ecs?.event?.type, ['creation'])
    assert.equal(ecs?.event?.outcome, 'success')
    assert.equal(ecs?.user?.id, owner.identity)
    assert.equal(ecs?.organization?.id, owner.organization)
  },
})
