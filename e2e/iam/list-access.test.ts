// ListAccess and ListReach: who has access at a place, and where an identity has access.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'
import { addExternalGroup, addMember, suspend } from './external-access.ts'

const { listAccess, listReach, checkAccess } = AccessService.method

type Entry = {
  identity: { uid: string; name?: string; email?: string }
  role?: { uid: string; name: string }
  group: { uid: string; name?: string }
  roleBindingUid: string
  externalGroup?: { externalGroupId: string }
  inherited: boolean
  expireTime?: string
  hidden: boolean
}
type Page = { entries: Entry[]; totalCount: string; nextPageToken?: string; limits?: JsonObject }

const makeTeam = (stage: ExampleContext, parent = stage.owner.organization, name = 'team') =>
  make(stage, GroupsService.method.createGroup, { parent, group: { name } })

/**
 * Does not use `succeed`, which compares the responses of both doors: the order of the entries
 * depends on random uids, so it differs between the doors.
 */
async function readPage(
  { door, owner }: ExampleContext,
  method: typeof listAccess | typeof listReach,
  request: JsonObject,
  token = owner.token,
): Promise<Page> {
  const { body, error } = await door.call(method, request, token)
  assert.ok(body, error?.message)
  return body as unknown as Page
}

/** Reads all pages, and compares their entries with the total. */
async function listAll(
  stage: ExampleContext,
  method: typeof listAccess | typeof listReach,
  request: JsonObject,
  token?: string,
): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page: JsonObject = { ...request, ...(pageToken !== '' && { pageToken }) }
    const answer = await readPage(stage, method, page, token)
    entries.push(...answer.entries)
    pageToken = answer.nextPageToken
    if (pageToken === undefined) assert.equal(String(entries.length), answer.totalCount)
    else assert.equal(answer.entries.length, request.pageSize)
  }
  return entries
}

const summaryOf = ({ identity, role, group, inherited }: Entry) =>
  [identity.uid, role?.name, group.uid, inherited] as const

examples('ListAccess', {
  async 'lists direct access first, then inherited access with its group, in pages'(stage) {
    const { platform, owner } = stage
    const { organization } = owner
    const team = await makeTeam(stage)
    const inside = await makeTeam(stage, team, 'inside')
    const sibling = await makeTeam(stage)
    const viewer = await platform.addIdentity(organization, 'viewer', team)
    const editor = await platform.addIdentity(organization, 'editor', inside)
    await platform.bind(viewer.identity, 'editor', team)
    await platform.bind(viewer.identity, 'owner', sibling)
    const all = await listAll(stage, listAccess, { resource: inside })
    assert.deepEqual(summaryOf(all[0] as Entry), [editor.identity, 'editor', inside, false])
    assert.deepEqual(
      all.slice(1, 3).map(summaryOf).sort(),
      [
        [viewer.identity, 'editor', team, true],
        [viewer.identity, 'viewer', team, true],
      ].sort(),
    )
    assert.deepEqual(all.slice(3).map(summaryOf), [[owner.identity, 'owner', organization, true]])
    for (const pageSize of [1, 2, 3])
      assert.deepEqual(await listAll(stage, listAccess, { resource: inside, pageSize }), all)
    const repo = await listAll(stage, listAccess, { resource: `${inside}/${'0'.repeat(16)}` })
    assert.deepEqual(
      repo,
      all.map((entry) => ({ ...entry, inherited: true })),
      'the same for a repo in the group, but all inherited',
    )
  },

  async 'filters by capability and identity, consistently with CheckAccess'(stage) {
    const { platform, owner, succeed } = stage
    const { organization } = owner
    const team = await makeTeam(stage)
    const people = [owner]
    for (const role of ['viewer', 'editor', 'registry.pull', 'owner', 'viewer'])
      people.push(await platform.addIdentity(organization, role, team))
    const custom = await platform.addIdentityWith(organization, ['CAP_IAM_GROUPS_DELETE'])
    await platform.bind(custom.identity, 'viewer', team)
    people.push(custom)
    const provider = await addExternalGroup(stage, team, 'editor')
    const member = await platform.addUser('cyd@example.com')
    await addMember(stage, provider, member.identity, Date.now() + 60_000)
    people.push(member)
    for (const capability of ['groups.list', 'groups.delete', 'repo.create', 'tag.list']) {
      const holders = await listAll(stage, listAccess, { resource: team, capability, pageSize: 2 })
      const allowedIdentities = new Set<string>()
      for (const { identity } of people) {
        const { allowed } = await succeed(checkAccess, { identity, capability, resource: team })
        if (allowed) allowedIdentities.add(identity)
        const own = await listAll(stage, listAccess, { resource: team, capability, identity, pageSize: 1 })
        assert.equal(own.length > 0, allowed)
        assert.deepEqual(
          own,
          holders.filter((entry) => entry.identity.uid === identity),
        )
      }
      assert.deepEqual(new Set(holders.map(({ identity }) => identity.uid)), allowedIdentities)
    }
  },

  async 'lists the members of external groups one by one, and no expired or suspended ones'(stage) {
    const { platform, owner } = stage
    const { organization } = owner
    const team = await makeTeam(stage)
    const provider = await addExternalGroup(stage, team, 'viewer')
    const soon = Date.now() + 60_000
    const [ada, bob, cyd, dan] = [
      await platform.addUser('ada@example.com'),
      await platform.addUser('bob@example.com'),
      await platform.addUser('cyd@example.com'),
      await platform.addUser('dan@example.com'),
    ]
    await addMember(stage, provider, ada.identity, soon)
    await addMember(stage, provider, ada.identity, soon + 1000, 'scim')
    await addMember(stage, provider, bob.identity, soon)
    await addMember(stage, provider, cyd.identity, Date.now() - 1)
    await addMember(stage, provider, dan.identity, soon)
    await platform.bind(dan.identity, 'editor', team)
    await platform.bind(dan.identity, 'viewer', organization)
    await suspend(stage, provider, dan.identity, team)
    const before = await listAll(stage, listAccess, { resource: team, pageSize: 1 })
    const members = before.filter(({ externalGroup }) => externalGroup)
    assert.deepEqual(
      members.map(({ identity, role, expireTime, externalGroup }) => [
        ...[identity.email, role?.name, externalGroup?.externalGroupId, Date.parse(expireTime ?? '')],
      ]),
      [ada, bob]
        .sort((a, b) => (a.identity < b.identity ? -1 : 1))
        .map((person) => [
          ...[person === ada ? 'ada@example.com' : 'bob@example.com', 'viewer', 'developers'],
          person === ada ? soon + 1000 : soon,
        ]),
    )
    const dans = before.filter(({ identity }) => identity.uid === dan.identity)
    assert.deepEqual(dans.map(summaryOf), [[dan.identity, 'viewer', organization, true]])
    assert.equal(before.length, 4)
    const reach = await listAll(stage, listReach, { identity: dan.identity })
    assert.deepEqual(
      reach.map(({ group }) => group.uid),
      [organization],
    )
    const adas = await listAll(stage, listReach, { identity: ada.identity })
    assert.deepEqual(adas, [
      { ...members.find(({ identity }) => identity.uid === ada.identity), inherited: false },
    ])
  },

  async 'hides the details of role bindings that the caller may not list'(stage) {
    const { platform, owner, fail } = stage
    const { organization } = owner
    const team = await makeTeam(stage)
    const viewer = await platform.addIdentity(organization, 'viewer', team)
    const [own, above] = await listAll(stage, listAccess, { resource: team }, viewer.token)
    assert.deepEqual([own?.identity.name, own?.role?.name, own?.hidden], ['test', 'viewer', false])
    assert.deepEqual(above, {
      ...{
        identity: { ...above?.identity, uid: owner.identity, name: '' },
        group: { ...above?.group, uid: organization, name: '' },
      },
      ...{ roleBindingUid: '', inherited: true, hidden: true },
    })
    const refused = await fail(listAccess, { resource: organization }, viewer.token)
    assert.equal(refused.code, Code.PERMISSION_DENIED)
    const stranger = await platform.addOrganization('elsewhere')
    for (const identity of [owner.identity, 'f'.repeat(40)]) {
      const error = await fail(listAccess, { resource: team, identity }, stranger.token)
      assert.equal(error.code, Code.PERMISSION_DENIED)
      assert.deepEqual(await listAll(stage, listReach, { identity }, stranger.token), [], 'nothing visible')
    }
  },

  async 'answers callers about themselves without any capability, within the limits of the token'(stage) {
    const { platform, owner } = stage
    const { organization } = owner
    const team = await makeTeam(stage)
    const puller = await platform.addIdentity(organization, 'registry.pull', organization)
    const { identity } = puller
    await platform.bind(identity, 'editor', team)
    const limited = (limits: { scopes?: string[]; capabilities?: string[] }) =>
      mintToken(
        { keys: platform.keys, authUrl: platform.config.authUrl, now: Date.now, random: randomBytes },
        { identity, audience: platform.config.baseUrl, limits },
      )
    const rolesAt = async (resource: string, token: string) =>
      (await listAll(stage, listAccess, { resource, identity }, token)).map(({ role }) => role?.name)
    assert.deepEqual(await rolesAt(team, puller.token), ['editor', 'registry.pull'])
    assert.deepEqual(await rolesAt(organization, puller.token), ['registry.pull'])
    const inTeam = await limited({ scopes: [team] })
    assert.deepEqual(await rolesAt(team, inTeam), ['editor', 'registry.pull'])
    assert.deepEqual(await rolesAt(organization, inTeam), [])
    const toCreate = await limited({ capabilities: ['repo.create'] })
    assert.deepEqual(await rolesAt(team, toCreate), ['editor'])
    const reachOf = async (request: JsonObject, token: string) =>
      (await listAll(stage, listReach, request, token)).map(({ role }) => role?.name).sort()
    assert.deepEqual(await reachOf({ pageSize: 1 }, puller.token), ['editor', 'registry.pull'])
    assert.deepEqual(await reachOf({ capability: 'repo.create' }, puller.token), ['editor'])
    assert.deepEqual(await reachOf({ group: team }, puller.token), ['editor'])
    assert.deepEqual(await reachOf({}, toCreate), ['editor'])
    const { limits } = await readPage(stage, listReach, { identity }, toCreate)
    assert.deepEqual(limits, { scopes: [], capabilities: ['repo.create'], allowsNothing: false })
  },

  async 'continues where a page ended, even if role bindings are deleted between pages'(stage) {
    const { platform, owner } = stage
    const { organization: resource } = owner
    const now = Date.now()
    const uids = Array.from({ length: 9 }, (_, at) =>
      newChildUid(resource, now, (size) => Buffer.alloc(size, 10 + at)),
    )
    await platform.store.write(function* () {
      yield* createMany(
        identities,
        uids.map((uid) => [create(IdentitySchema, { name: 'many' }), { uid, now }]),
      )
      yield* createMany(
        roleBindings,
        uids.map((uid) => [
          create(RoleBindingSchema),
          { uid, now, columns: { identity: uid, role: builtInRole('viewer').uid } },
        ]),
      )
    })
    const page = (pageToken?: string) =>
      readPage(stage, listAccess, { resource, pageSize: 4, ...(pageToken && { pageToken }) })
    const first = await page()
    await platform.unbind(first.entries[3]?.identity.uid ?? '')
    await platform.unbind(uids[7] ?? '')
    const second = await page(first.nextPageToken)
    const third = await page(second.nextPageToken)
    assert.deepEqual([second.totalCount, third.totalCount, third.nextPageToken], ['8', '8', undefined])
    const seen = [first, second, third].flatMap(({ entries }) => entries.map(({ identity }) => identity.uid))
    assert.deepEqual(
      seen.filter((uid) => uids.includes(uid)),
      uids.filter((uid) => uid !== uids[7]),
    )
  },

  async 'names the field of a wrong request, and refuses page tokens of other lists'(stage) {
    const { owner, fail, platform } = stage
    const { organization: resource } = owner
    for (const [method, request, field] of [
      [listAccess, { resource, capability: 'groups' }, 'capability'],
      [listAccess, { resource, identity: 'x' }, 'identity'],
      [listAccess, { resource: 'x' }, 'resource'],
      [listAccess, { resource, pageSize: -1 }, 'pageSize'],
      [listReach, { capability: "groups.list' or 1=1" }, 'capability'],
      [listReach, { group: '%' }, 'group'],
    ] as const)
      assert.deepEqual(violations(await fail(method, request)), [field])
    await platform.addIdentity(resource, 'viewer')
    const { nextPageToken: pageToken = '' } = await readPage(stage, listAccess, { resource, pageSize: 1 })
    const other = { resource, capability: 'groups.list', pageSize: 1, pageToken }
    assert.deepEqual(violations(await fail(listAccess, other)), ['pageToken'])
  },
})
