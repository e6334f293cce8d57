// The access matrix through both doors on both stores, and rules that the matrix does not cover.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Groups as GroupsV1 } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import type { Endpoint } from '../../server/http/door.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestBinding, TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { matrix } from './access-matrix.ts'
import type { MatrixContext } from './matrix-context.ts'
import type { MatrixRow } from './matrix-row.ts'
import { callers } from './matrix-row.ts'

type CallerName = (typeof callers)[number]

/** The roles that callers have in the group of a call. They have no others. */
const rolesHere = [
  ['viewer here', 'viewer'],
  ['editor here', 'editor'],
  ['owner here', 'owner'],
] as const

const { createGroup, deleteGroup, getGroup, listGroups } = GroupsService.method
const { exchange } = SecurityTokenService.method

/** The number of results: v2 lists have a total; v1 lists and streams contain every result. */
const countIn = ({ totalCount, items, documents }: JsonObject) =>
  totalCount === undefined ? ((items ?? documents) as unknown[]).length : Number(totalCount)

onEachStore('access', (engine) => {
  let platform: Platform
  let other: TestIdentity
  let doors: Door[] = []
  before(async () => {
    platform = await sharedPlatform(engine)
    other = await platform.addOrganization('other')
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  const makeGroup = (bindings: TestBinding[] = []) =>
    platform.addGroup(platform.owner.organization, 'here', bindings)

  describe('every method returns the code of the matrix to every caller', () => {
    const tokens = new Map<CallerName, string>()
    const bindings = new Map<CallerName, TestBinding>()
    /** Reads and refused calls change nothing, so all of them can be about the same group and resources. */
    let shared: MatrixContext
    before(async () => {
      tokens.set('bad token', 'x.y.z')
      tokens.set("other organization's owner", other.token)
      tokens.set('owner above', platform.owner.token)
      for (const [caller, role] of rolesHere) {
        const { identity, token } = await platform.addIdentity(platform.owner.organization)
        bindings.set(caller, { identity, role })
        tokens.set(caller, token)
      }
      shared = { ...(await newContext([...bindings.values()])), created: new Map() }
    })

    async function newContext(bound: TestBinding[]): Promise<MatrixContext> {
      const { owner } = platform
      const here = await makeGroup(bound)
      return { platform, organization: owner.organization, here, door: doors[0] as Door, owner }
    }

    /**
     * Callers take turns with the doors, beginning with another door on the other store. So each caller makes each call
     * through both doors and on both stores.
     */
    const doorOf = (caller: CallerName) =>
      doors[(callers.indexOf(caller) + (engine === 'sqlite' ? 0 : 1)) % doors.length] as Door // there are two

    /** Makes the call of a row in the group of `context`, as each of these callers. */
    async function checkCodes(
      { method }: Endpoint,
      row: MatrixRow,
      context: MatrixContext,
      callersOfGroup: readonly CallerName[],
    ) {
      const request = await row.request(context)
      for (const caller of callersOfGroup) {
        const at = callers.indexOf(caller)
        const door = doorOf(caller)
        const { error, body } = await door.call(method.desc, request, tokens.get(caller))
        assert.equal(error?.code ?? 0, row.codes[at], `${door.name}: ${caller}: ${error?.message}`)
        if (row.visible && body) assert.equal(countIn(body), row.visible[at], caller)
      }
    }

    for (const [name, row] of Object.entries(matrix)) {
      test(name, async () => {
        const endpoint = platform.app.endpoints.find(({ method }) => method.name === name)
        assert.ok(endpoint, `${name} is in the matrix but not served`)
        const isWriter = (_: CallerName, at: number) => !endpoint.method.isRead && row.codes[at] === 0
        const writers = callers.filter(isWriter)
        const others = callers.filter((caller) => !writers.includes(caller))
        if (others.length > 0) await checkCodes(endpoint, row, shared, others)
        for (const caller of writers)
          await checkCodes(endpoint, row, await newContext([bindings.get(caller) ?? []].flat()), [caller])
      })
    }
  })

  test('errors do not reveal to callers of another organization whether a uid exists', async () => {
    const group = await makeGroup()
    for (const door of doors) {
      const answers = [group, `${platform.owner.organization}/${'0'.repeat(16)}`].map(async (uid) => {
        const { error } = await door.call(getGroup, { uid }, other.token)
        return JSON.stringify(error).replaceAll(uid, 'uid')
      })
      const [existing, missing] = await Promise.all(answers)
      assert.equal(existing, missing)
      assert.match(existing ?? '', /"code":7/)
    }
  })

  test('invalid values are reported only to callers who may make the call', async () => {
    const here = await makeGroup()
    const viewer = await platform.addIdentity(platform.owner.organization, 'viewer', here)
    for (const door of doors) {
      const request = { parent: here, group: { name: 'NOT A NAME' } }
      assert.equal((await door.call(createGroup, request, viewer.token)).error?.code, 7)
      assert.equal((await door.call(createGroup, request, platform.owner.token)).error?.code, 3)
    }
  })

  test('the removal of a role binding takes effect with the next call', async () => {
    const here = await makeGroup()
    const viewer = await platform.addIdentity(platform.owner.organization, 'viewer', here)
    for (const door of doors) assert.ok((await door.call(getGroup, { uid: here }, viewer.token)).body)
    await platform.unbind(viewer.identity)
    for (const door of doors) {
      assert.equal((await door.call(getGroup, { uid: here }, viewer.token)).error?.code, 7)
      assert.equal((await door.call(listGroups, {}, viewer.token)).body?.totalCount, '0')
    }
  })

  test('a token is invalid after its identity is deleted', async () => {
    const gone = await platform.addIdentity(platform.owner.organization, 'viewer')
    for (const door of doors) assert.ok((await door.call(listGroups, {}, gone.token)).body)
    await platform.deleteIdentity(gone.identity)
    for (const door of doors) assert.equal((await door.call(listGroups, {}, gone.token)).error?.code, 16)
  })

  test('a token issued before its identity was created is refused', async () => {
    const { identity } = await platform.addIdentity(platform.owner.organization, 'viewer')
    const early = await platform.tokenOf(identity, Date.now() - 5000)
    for (const door of doors) assert.equal((await door.call(listGroups, {}, early)).error?.code, 16)
  })

  test('people and the bootstrap owner may create organizations, other workloads may not', async () => {
    const user = await platform.addIdentity('')
    const workload = await platform.addIdentity(platform.owner.organization, 'owner')
    for (const door of doors) {
      const request = { group: { name: 'founded' } }
      assert.ok((await door.call(createGroup, request, user.token)).body)
      assert.ok((await door.call(createGroup, request, platform.owner.token)).body)
      assert.equal((await door.call(createGroup, request, workload.token)).error?.code, 7)
    }
  })

  test('a binding grants its capabilities in its group, but not above', async () => {
    const here = await makeGroup()
    const caller = await platform.addIdentity(platform.owner.organization, 'registry.push', here)
    for (const door of doors) {
      const { body } = await door.call(createGroup, { parent: here, group: { name: 'a' } }, caller.token)
      assert.ok(body, 'the role registry.push contains groups.create')
      const above = { parent: platform.owner.organization, group: { name: 'a' } }
      assert.equal((await door.call(createGroup, above, caller.token)).error?.code, 7)
    }
  })
})

onEachStore('--org-creation anyone', (engine) => {
  let platform: Platform
  let doors: Door[]
  before(async () => {
    platform = await startPlatform(engine, ['--org-creation', 'anyone'])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  /** Creates an organization in each version of the API. */
  const createOrganizations = async (door: Door, token: string) => {
    const v2 = await door.call(createGroup, { group: { name: 'founded' } }, token)
    const v1 = await door.call(GroupsV1.method.create, { group: { name: 'founded' } }, token)
    const codes = [v2.error?.code ?? 0, v1.error?.code ?? 0]
    return { codes, uids: [v2.body?.uid, v1.body?.id] as string[] }
  }

  test('lets a workload that owns an organization create further ones, which it then owns', async () => {
    for (const door of doors) {
      const { token } = await platform.addIdentity(platform.owner.organization, 'owner')
      const { codes, uids } = await createOrganizations(door, token)
      assert.deepEqual(codes, [0, 0])
      for (const uid of uids) {
        const child = await door.call(createGroup, { parent: uid, group: { name: 'child' } }, token)
        assert.ok(child.body, child.error?.message)
        const listed = await door.call(GroupsV1.method.list, { id: uid }, token)
        assert.equal((listed.body?.items as unknown[]).length, 1)
        await door.call(deleteGroup, { uid: child.body.uid as string }, token)
        assert.equal((await door.call(deleteGroup, { uid }, token)).error, undefined)
      }
    }
  })

  test('refuses a workload that has another role, owns only a sub-group, has a limited token, or has lost its role', async () => {
    const { organization } = platform.owner
    const [rest] = doors as [Door]
    const made = await rest.call(
      createGroup,
      { parent: organization, group: { name: 'sub' } },
      platform.owner.token,
    )
    const owner = await platform.addIdentity(organization, 'owner')
    const limited = await rest.call(
      exchange,
      { identity: owner.identity, scopes: [organization] },
      owner.token,
    )
    const revoked = await platform.addIdentity(organization, 'owner')
    await platform.unbind(revoked.identity)
    for (const door of doors)
      for (const token of [
        (await platform.addIdentity(organization, 'editor')).token,
        (await platform.addIdentity(organization, 'owner', String(made.body?.uid))).token,
        String(limited.body?.token),
        revoked.token,
      ])
        assert.deepEqual((await createOrganizations(door, token)).codes, [7, 7])
  })
})

onEachStore('--org-creation nobody', (engine) => {
  test('refuses a caller who could otherwise create organizations', async () => {
    const platform = await startPlatform(engine, ['--org-creation', 'nobody'])
    const door = restDoor(platform.url)
    try {
      const { error } = await door.call(createGroup, { group: { name: 'mine' } }, platform.owner.token)
      assert.equal(error?.code, 7)
    } finally {
      await platform.stop()
    }
  })
})
