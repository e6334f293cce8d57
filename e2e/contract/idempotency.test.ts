// Idempotency keys: a create that is repeated with its key happens once, and gets the same response.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { services } from '@stemma/api/gen/services.ts'
import { describeMethods } from '@stemma/api/method.ts'
import { deleteExpired } from '../../server/auth/login/expiring-states.ts'
import { newSignIn } from '../../server/auth/sign-outs.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { verifyOrganization } from '../../server/commands/verify.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door, FullResult } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { matrix } from '../iam/access-matrix.ts'
import { callers } from '../iam/matrix-row.ts'
import { lockStore } from './store-lock.ts'

const { createGroup, getGroup, listGroups, updateGroup, deleteGroup, requestGroupAccess } =
  GroupsService.method
const { createRole, deleteRole } = RolesService.method

const dayMs = 24 * 60 * 60 * 1000
const keyHeader = (key: string) => ({ 'idempotency-key': key })
const isReplayed = (answer: FullResult) => answer.header('idempotent-replayed') === 'true'
const codeOf = ({ result }: FullResult) => result.error?.code ?? 0

onEachStore('idempotency keys', (engine) => {
  let platform: Platform
  let owner: TestIdentity
  let doors: Door[] = []
  let now = Date.now
  before(async () => {
    platform = await startPlatform(engine, [], { now: () => now() })
    owner = platform.owner
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  const forEachDoor = async (run: (door: Door, other: Door) => Promise<void>) => {
    const [rest, grpc] = doors as [Door, Door]
    await run(rest, grpc)
    await run(grpc, rest)
  }

  const newGroup = (parent = owner.organization, name = `g-${randomBytes(6).toString('hex')}`) => ({
    ...{ parent, group: { name } },
  })
  const countGroups = async (name: string) =>
    (await platform.store.query(sql`select uid from groups where name = ${name}`)).length

  describe('every create returns the stored response when it is repeated, through either door', () => {
    const ownerAbove = callers.indexOf('owner above')
    for (const method of services.flatMap(describeMethods)) {
      const row = matrix[method.name]
      // The owner cannot call RequestGroupAccess, which is for people who are not members yet. It has a test of its own
      // below.
      if (!method.isCreate || method.desc.name === requestGroupAccess.name) continue
      test(method.name, async () => {
        assert.ok(row)
        assert.equal(row.codes[ownerAbove], 0)
        // The first call goes through REST on one store, and through gRPC on the other.
        const [door, other] = (engine === 'sqlite' ? doors : doors.toReversed()) as [Door, Door]
        const here = await platform.addGroup(owner.organization, 'here')
        const scene = { platform, organization: owner.organization, here, door, owner }
        const request = await row.request(scene)
        const send = (through: Door, key: string) =>
          through.send(method.desc, request, owner.token, keyHeader(key))
        const key = `"${randomUUID()}"`
        const first = await send(door, key)
        assert.equal(codeOf(first), 0, first.result.error?.message)
        assert.equal(isReplayed(first), false)
        for (const repeated of [await send(door, key), await send(other, key)]) {
          assert.deepEqual(repeated.result, first.result)
          assert.equal(repeated.header('etag'), first.header('etag'))
          assert.equal(isReplayed(repeated), true)
        }
        const malformed = await send(door, 'no key')
        assert.equal(codeOf(malformed), 3)
        assert.match(malformed.result.error?.message ?? '', /Idempotency-Key: must be/)
      })
    }
  })

  test('a request for access can be repeated with its key', async () => {
    const domain = `${randomBytes(8).toString('hex')}.example.com`
    const organization = (await platform.addOrganization(domain)).organization
    await verifyOrganization(platform.store, organization, { isVerified: true, now: Date.now() })
    await forEachDoor(async (door) => {
      for (const [method, request] of [
        [requestGroupAccess, { groupUid: organization }],
        [Groups.method.requestGroupAccess, { groupId: organization }],
      ] as const) {
        const { token } = await platform.addUser(`${randomBytes(4).toString('hex')}@${domain}`)
        const send = (key: string) => door.send(method, request, token, keyHeader(key))
        assert.equal(codeOf(await send('a')), 0)
        assert.equal(codeOf(await send('a')), 0)
        assert.equal(codeOf(await send('b')), 8)
      }
    })
  })

  test('a key is the same with and without quotes', () =>
    forEachDoor(async (door) => {
      const request = newGroup()
      const first = await door.send(createGroup, request, owner.token, keyHeader(request.group.name))
      const quoted = keyHeader(`"${request.group.name}"`)
      const second = await door.send(createGroup, request, owner.token, quoted)
      assert.deepEqual(second.result, first.result)
      assert.equal(await countGroups(request.group.name), 1)
    }))

  test('a malformed key is an error that names the header, for callers with access only', () =>
    forEachDoor(async (door) => {
      const stranger = await platform.addIdentity(owner.organization)
      const request = newGroup()
      const keys = ['a b', 'a,b', '"a', '"a"b"', '""', '"a";b=1', 'x'.repeat(256), `"${'x'.repeat(256)}"`]
      for (const key of keys) {
        const refused = await door.send(createGroup, request, owner.token, keyHeader(key))
        assert.equal(codeOf(refused), 3, key)
        assert.match(refused.result.error?.message ?? '', /Idempotency-Key: must be one text of 1 to 255/)
        assert.equal(codeOf(await door.send(createGroup, request, stranger.token, keyHeader(key))), 7)
      }
      assert.equal(await countGroups(request.group.name), 0)
      // Each door needs its own key: a key that was used through one door is known at the other.
      const [initial] = door.name
      for (const key of [`${'x'.repeat(254)}${initial}`, `"${'\\"'.repeat(254)}${initial}"`])
        assert.equal(codeOf(await door.send(createGroup, newGroup(), owner.token, keyHeader(key))), 0)
    }))

  test('calls that create nothing ignore the header', () =>
    forEachDoor(async (door) => {
      const made = await door.send(createGroup, newGroup(), owner.token, keyHeader(randomUUID()))
      const uid = made.result.body?.uid as string
      const calls: [DescMethod, JsonObject][] = [
        [getGroup, { uid }],
        [listGroups, { uidp: { ids: [uid] } }],
        [updateGroup, { group: { uid, description: 'new' } }],
        [deleteGroup, { uid }],
      ]
      for (const [method, request] of calls)
        assert.equal(codeOf(await door.send(method, request, owner.token, keyHeader('not a key'))), 0)
    }))

  test('another request with the same key is refused with 422, and creates nothing', () =>
    forEachDoor(async (door, other) => {
      const key = keyHeader(randomUUID())
      const first = newGroup()
      assert.equal(codeOf(await door.send(createGroup, first, owner.token, key)), 0)
      const changes = [
        { ...first, group: { ...first.group, description: 'more' } },
        newGroup(),
        newGroup(`${owner.organization}/${'0'.repeat(16)}`, first.group.name),
      ]
      for (const changed of changes) {
        for (const through of [door, other]) {
          const refused = await through.send(createGroup, changed, owner.token, key)
          assert.equal(codeOf(refused), 9)
          if (refused.http !== undefined) assert.equal(refused.http, 422)
          const [, precondition] = refused.result.error?.details ?? []
          const [violation] = precondition?.violations as JsonObject[]
          assert.equal(violation?.type, 'IDEMPOTENCY_KEY_REUSED')
        }
      }
      assert.equal(await countGroups(first.group.name), 1)
      assert.equal(isReplayed(await door.send(createGroup, first, owner.token, key)), true)
    }))

  test('a request that differs only in a v1 field without a counterpart in v2 is another request, and is refused', () =>
    forEachDoor(async (door) => {
      const repo = { name: `r-${randomBytes(6).toString('hex')}`, readme: 'one' }
      const send = (readme: string) =>
        door.send(
          Registry.method.createRepo,
          { parentId: owner.organization, repo: { ...repo, readme }, preventExisting: true },
          owner.token,
          keyHeader(repo.name),
        )
      assert.equal(codeOf(await send('one')), 0)
      assert.equal(codeOf(await send('two')), 9)
      assert.equal((await send('one')).result.body?.readme, 'one')
    }))

  test('a key belongs to its caller and to its method', () =>
    forEachDoor(async (door) => {
      const key = keyHeader(randomUUID())
      const colleague = await platform.addIdentity(owner.organization, 'owner')
      const request = newGroup()
      const mine = await door.send(createGroup, request, owner.token, key)
      const theirs = await door.send(createGroup, request, colleague.token, key)
      assert.equal(isReplayed(theirs), false)
      assert.notEqual(theirs.result.body?.uid, mine.result.body?.uid)
      const role = {
        parent: owner.organization,
        role: { name: request.group.name, capabilities: ['CAP_IAM_GROUPS_LIST'] },
      }
      const other = await door.send(createRole, role, owner.token, key)
      assert.deepEqual([codeOf(other), isReplayed(other)], [0, false])
    }))

  test('32 calls at once with one key create one resource, and get its response or 409', () =>
    forEachDoor(async (door, other) => {
      const request = newGroup()
      const key = keyHeader(randomUUID())
      const answers = await Promise.all(
        Array.from({ length: 32 }, (_, at) =>
          (at % 2 ? door : other).send(createGroup, request, owner.token, key),
        ),
      )
      assert.equal(await countGroups(request.group.name), 1)
      const successes = answers.filter((answer) => codeOf(answer) === 0)
      assert.equal(successes.filter((answer) => !isReplayed(answer)).length, 1)
      for (const { result } of successes) assert.deepEqual(result, successes[0]?.result)
      for (const answer of answers) assert.ok([0, 10].includes(codeOf(answer)), String(codeOf(answer)))
    }))

  const postgresOnly = { skip: engine === 'sqlite' && 'the embedded store has one server' }
  test('concurrent calls on two copies of the server create one resource', postgresOnly, async () => {
    const { startApp } = await import('../../server/app.ts')
    const { openLog } = await import('../../server/log.ts')
    const copy = await startApp(platform.config, openLog('silent'))
    try {
      const copyDoor = restDoor(`http://127.0.0.1:${copy.port}`)
      const [door] = doors as [Door]
      for (let round = 0; round < 5; round++) {
        const request = newGroup()
        const key = keyHeader(randomUUID())
        const send = (through: Door) => through.send(createGroup, request, owner.token, key)
        const answers = await Promise.all([door, copyDoor, door, copyDoor].map(send))
        assert.equal(await countGroups(request.group.name), 1)
        const [body, ...others] = answers.flatMap(({ result }) => (result.body ? [result.body] : []))
        assert.ok(body)
        for (const another of others) assert.deepEqual(another, body)
        for (const answer of answers) assert.ok([0, 10].includes(codeOf(answer)))
      }
    } finally {
      await copy.stop(true)
    }
  })

  test('of two calls at the same time, one is refused with 409 and Retry-After while the other runs', () =>
    forEachDoor(async (door, other) => {
      const request = newGroup()
      const key = keyHeader(randomUUID())
      const release = await lockStore(platform)
      const calls = [0, 1].map(() => door.send(createGroup, request, owner.token, key))
      try {
        // The other call waits for the store.
        const refused = await Promise.race(calls)
        assert.equal(codeOf(refused), 10)
        assert.equal(refused.header('retry-after'), '1')
        if (door === doors[0]) assert.equal(refused.http, 409)
      } finally {
        await release()
      }
      assert.deepEqual((await Promise.all(calls)).map(codeOf).sort(), [0, 10])
      assert.equal(isReplayed(await other.send(createGroup, request, owner.token, key)), true)
      assert.equal(await countGroups(request.group.name), 1)
    }))

  test('a call that failed for a temporary reason can be repeated with its key', () =>
    forEachDoor(async (door) => {
      const request = newGroup()
      const key = keyHeader(randomUUID())
      const release = await lockStore(platform)
      try {
        const [rest] = doors as [Door]
        const late = await rest.send(createGroup, request, owner.token, { ...key, 'grpc-timeout': '300m' })
        assert.equal(codeOf(late), 4)
      } finally {
        await release()
      }
      let repeated = await door.send(createGroup, request, owner.token, key)
      // On PostgreSQL, the first attempt may still wait for its cancellation.
      for (let count = 0; count < 600 && codeOf(repeated) === 10; count++) {
        await sleep(100)
        repeated = await door.send(createGroup, request, owner.token, key)
      }
      assert.equal(codeOf(repeated), 0)
      assert.equal(await countGroups(request.group.name), 1)
    }))

  test('a final error is stored like a response', () =>
    forEachDoor(async (door, other) => {
      const role = { name: `r-${randomBytes(6).toString('hex')}`, capabilities: ['CAP_IAM_GROUPS_LIST'] }
      const request = { parent: owner.organization, role }
      const existing = await door.call(createRole, request, owner.token)
      const key = keyHeader(randomUUID())
      const first = await door.send(createRole, request, owner.token, key)
      assert.deepEqual([codeOf(first), isReplayed(first)], [6, false])
      await door.call(deleteRole, { uid: existing.body?.uid as string }, owner.token)
      for (const through of [door, other]) {
        const repeated = await through.send(createRole, request, owner.token, key)
        assert.deepEqual(repeated.result, first.result)
        assert.equal(isReplayed(repeated), true)
      }
      assert.equal(codeOf(await door.send(createRole, request, owner.token, keyHeader(randomUUID()))), 0)
    }))

  test('a caller who has lost access gets no stored response, and gets it again with access', () =>
    forEachDoor(async (door) => {
      const { token, identity } = await platform.addIdentity(owner.organization, 'owner')
      const request = newGroup()
      const key = keyHeader(randomUUID())
      const first = await door.send(createGroup, request, token, key)
      await platform.unbind(identity)
      assert.equal(codeOf(await door.send(createGroup, request, token, key)), 7)
      await platform.bind(identity, 'owner', owner.organization)
      assert.deepEqual((await door.send(createGroup, request, token, key)).result, first.result)
    }))

  test('a refusal for lack of access is not stored', () =>
    forEachDoor(async (door) => {
      const { token, identity } = await platform.addIdentity(owner.organization, 'viewer')
      const key = keyHeader(randomUUID())
      const request = newGroup()
      assert.equal(codeOf(await door.send(createGroup, request, token, key)), 7)
      await platform.bind(identity, 'owner', owner.organization)
      assert.equal(codeOf(await door.send(createGroup, request, token, key)), 0)
    }))

  test('a token with limits does not get the stored response of a call that created an organization', () =>
    forEachDoor(async (door) => {
      const person = await platform.addUser(`${randomBytes(4).toString('hex')}@example.com`)
      const key = keyHeader(randomUUID())
      const request = { group: { name: 'own' } }
      const first = await door.send(createGroup, request, person.token, key)
      assert.equal(codeOf(first), 0)
      assert.deepEqual((await door.send(createGroup, request, person.token, key)).result, first.result)
      const { keys, config } = platform
      const limited = await mintToken(
        { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes },
        {
          ...{ identity: person.identity, audience: config.baseUrl },
          limits: { scopes: [owner.organization] },
          signIn: await newSignIn(platform.store, person.identity, Date.now()),
        },
      )
      assert.equal(codeOf(await door.send(createGroup, request, limited, key)), 7)
    }))

  test('a key is forgotten after a day, and deleted with the other expired rows', () =>
    forEachDoor(async (door) => {
      const request = newGroup()
      const key = keyHeader(randomUUID())
      const start = Date.now()
      const at = async (time: number) => {
        now = () => time
        const token = await platform.tokenOf(owner.identity, time)
        return door.send(createGroup, request, token, key)
      }
      try {
        const first = await at(start)
        assert.deepEqual((await at(start + dayMs - 1)).result, first.result)
        assert.equal(await countGroups(request.group.name), 1)
        assert.equal(isReplayed(await at(start + dayMs)), false)
        assert.equal(await countGroups(request.group.name), 2)
        assert.equal(isReplayed(await at(start + 2 * dayMs - 1)), true)
        await platform.store.write(() => deleteExpired(start + 3 * dayMs))
        assert.deepEqual(await platform.store.query(sql`select id from idempotency_keys`), [])
      } finally {
        now = Date.now
      }
    }))

  test('the keys of an identity are deleted with it', async () => {
    const { token, identity } = await platform.addIdentity(owner.organization, 'owner')
    const [door] = doors as [Door]
    await door.send(createGroup, newGroup(), token, keyHeader(randomUUID()))
    const keys = () => platform.store.query(sql`select id from idempotency_keys where caller = ${identity}`)
    assert.equal((await keys()).length, 1)
    await platform.deleteIdentity(identity)
    assert.deepEqual(await keys(), [])
  })
})
