// Creating organizations for others: the creator must not keep access, and must not be able to fill the store.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { create as newMessage } from '@bufbuild/protobuf'
import { GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import {
  AccountAssociationSchema,
  AccountAssociationsService,
} from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { newRootUid } from '../../server/aip/uid.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { operatorAccess, signInAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { accountAssociations } from '../../server/resources/iam/account-associations/table.ts'
import { acceptInvite } from '../../server/resources/iam/group-invites/accept.ts'
import { recordUnclaimed } from '../../server/resources/iam/group-invites/unclaimed-organizations.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { sql } from '../../server/store/sql.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { violations } from '../contract/examples.ts'

const { createWithGroup } = GroupInvites.method
const { getGroup, deleteGroup } = GroupsService.method
const { listGroupInvites } = GroupInvitesService.method
const owner = builtInRole('owner').uid

onEachStore('an organization that is created for somebody else', (engine) => {
  let platform: Platform
  let doors: Door[] = []
  let clockOffsetMs = 0
  const now = () => Date.now() + clockOffsetMs
  before(async () => {
    platform = await startPlatform(engine, [], { now })
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  /** A person who has the capabilities that the call needs, as the owner of an organization. */
  async function newPerson(): Promise<TestIdentity> {
    const person = await platform.addIdentity('')
    await platform.bind(person.identity, 'owner', platform.owner.organization)
    return person
  }
  async function create(door: Door, token: string, fields: JsonObject = {}) {
    const { body, error } = await door.call(
      createWithGroup,
      { group: 'gift', ttl: '3600s', ...fields },
      token,
    )
    assert.ok(body, error?.message)
    const { code, id } = body as { code: string; id: string }
    return { body, code, organization: id.slice(0, 40) }
  }
  const accept = (code: string, identity: string) =>
    platform.store.write(() =>
      acceptInvite({ access: signInAccess(new Map()), now, random: randomBytes }, code, {
        identity,
        email: undefined,
      }),
    )
  async function storeUnclaimed(creator: string, count: number): Promise<void> {
    const uids = Array.from({ length: count }, () => newRootUid(randomBytes))
    await platform.store.write(function* () {
      yield* createMany(
        groups,
        uids.map((uid) => [newMessage(GroupSchema, { name: 'flood' }), { uid, now: now() }]),
      )
      for (const uid of uids) yield* recordUnclaimed(uid, creator, now() + 3_600_000)
    })
  }
  const countOrganizations = async (name: string) =>
    (await platform.store.query(sql`select uid from groups where name = ${name}`)).length

  test('belongs to the first person who accepts the invite, and never to its creator', async () => {
    for (const door of doors) {
      const creator = await newPerson()
      const { body, code, organization } = await create(door, creator.token, { group: 'for a friend' })
      assert.equal((body.role as JsonObject).name, 'owner')
      assert.equal(Buffer.from(code, 'base64').toString().slice(0, 8), '{"grp":"')
      const guest = await platform.addIdentity('')
      const call = async (token: string) =>
        (await door.call(getGroup, { uid: organization }, token)).error?.code
      assert.deepEqual([await call(creator.token), await call(guest.token)], [7, 7])
      await accept(code, guest.identity)
      assert.deepEqual([await call(creator.token), await call(guest.token)], [7, undefined])
      // The code works once, although the request does not set `singleUse`, so its creator cannot use it later.
      await assert.rejects(accept(code, creator.identity), /is not the code of an invite/)
      const invites = await door.call(listGroupInvites, { uidp: { childrenOf: organization } }, guest.token)
      assert.equal(invites.body?.totalCount, '0')
      assert.ok((await door.call(deleteGroup, { uid: organization }, guest.token)).body)
    }
  })

  test('is created once for an idempotency key', async () => {
    for (const [first, second] of [doors, doors.toReversed()] as [Door, Door][]) {
      const { token } = await newPerson()
      const headers = { 'idempotency-key': `gift-${first.name}` }
      const name = `once ${first.name.toLowerCase()}`
      const send = (door: Door) => door.send(createWithGroup, { group: name, ttl: '60s' }, token, headers)
      assert.deepEqual((await send(second)).result.body, (await send(first)).result.body)
      assert.equal(await countOrganizations(name), 1)
    }
  })

  test('can be created only by those who may create organizations and have the capabilities that the call needs', async () => {
    const request = { group: 'stolen', ttl: '60s' }
    const robot = await platform.addIdentity(platform.owner.organization, 'owner')
    const nobody = await platform.addIdentity('')
    const viewer = await platform.addIdentity('')
    await platform.bind(viewer.identity, 'viewer', platform.owner.organization)
    const person = await newPerson()
    for (const door of doors) {
      const { exchange } = SecurityTokenService.method
      const limits = { identity: person.identity, scopes: [platform.owner.organization] }
      const limited = (await door.call(exchange, limits, person.token)).body?.token as string
      for (const token of [robot.token, nobody.token, viewer.token, limited])
        assert.equal((await door.call(createWithGroup, request, token)).error?.code, 7)
      // Without access, nothing is said about the request.
      assert.equal((await door.call(createWithGroup, { group: 'BAD' }, nobody.token)).error?.code, 7)
      assert.equal((await door.call(createWithGroup, request)).error?.code, 16)
    }
    assert.equal(await countOrganizations('stolen'), 0)
  })

  test('needs a valid name, and an invite with the role owner, a valid ttl and a valid e-mail address', async () => {
    const { token } = await newPerson()
    const cases: [JsonObject, string][] = [
      [{ group: '' }, 'group'],
      [{ group: 'BAD' }, 'group'],
      [{ group: platform.owner.organization.padEnd(300, '/') }, 'group'],
      [{ role: builtInRole('viewer').uid }, 'role'],
      [{ ttl: '0s' }, 'ttl'],
      [{ ttl: '31536001s' }, 'ttl'],
      [{ email: 'no address' }, 'email'],
    ]
    for (const door of doors) {
      for (const [fields, field] of cases) {
        const { error } = await door.call(createWithGroup, { group: 'new', ttl: '60s', ...fields }, token)
        assert.deepEqual(error && violations(error), [field], JSON.stringify(fields))
      }
      const forOne = await create(door, token, { role: owner, email: 'kim@acme.example' })
      await assert.rejects(accept(forOne.code, (await newPerson()).identity), /verified e-mail address/)
    }
  })

  test('counts towards the limit of its creator until it is accepted, or until it expires and is deleted', async () => {
    const creator = await newPerson()
    const [rest, grpc] = doors as [Door, Door]
    const claimed = await create(rest, creator.token, { group: 'flood' })
    await create(rest, creator.token, { group: 'flood' })
    await storeUnclaimed(creator.identity, 96)
    // Concurrent calls cannot exceed the limit of 100.
    const request = { group: 'flood', ttl: '7200s' }
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        (at % 2 === 0 ? rest : grpc).call(createWithGroup, request, creator.token),
      ),
    )
    assert.deepEqual(answers.map(({ error }) => error?.code ?? 0).sort(), [0, 0, 8, 8, 8, 8])
    assert.equal(await countOrganizations('flood'), 100)
    // Others are not affected, and an accepted invite makes room.
    await create(grpc, (await newPerson()).token, { group: 'other' })
    await accept(claimed.code, (await newPerson()).identity)
    await create(grpc, creator.token, { group: 'flood', ttl: '7200s' })
    assert.equal((await rest.call(createWithGroup, request, creator.token)).error?.code, 8)
    clockOffsetMs = 3_700_000
    try {
      await create(rest, await platform.tokenOf(creator.identity, now()), { group: 'flood' })
      // The claimed one, three that have not expired, and the new one.
      assert.equal(await countOrganizations('flood'), 5)
      assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
    } finally {
      clockOffsetMs = 0
    }
  })

  test('no longer counts after its invite has expired, if the operator has created something in it', async () => {
    const creator = await newPerson()
    const [door] = doors as [Door]
    const { organization } = await create(door, creator.token, { group: 'kept' })
    await platform.addIdentity(organization)
    const { organization: uid } = await create(door, creator.token, { group: 'kept' })
    const association = newMessage(AccountAssociationSchema, { name: 'accounts' })
    await platform.store.write(() =>
      createEntry(operatorAccess, accountAssociations, association, { uid, now: now() }),
    )
    clockOffsetMs = 3_700_000
    try {
      const token = await platform.tokenOf(creator.identity, now())
      const next = await create(door, token, { group: 'next' })
      assert.equal(await countOrganizations('kept'), 2)
      const counted = await platform.store.query(
        sql`select organization from unclaimed_organizations where creator = ${creator.identity}`,
      )
      assert.deepEqual(counted.flat(), [next.organization])
    } finally {
      clockOffsetMs = 0
    }
  })

  test('does not block its creator if its owner leaves it with an account association', async () => {
    const creator = await newPerson()
    const guest = await platform.addIdentity('')
    const [door] = doors as [Door]
    const gift = await create(door, creator.token, { group: 'left' })
    await accept(gift.code, guest.identity)
    const { error } = await door.call(
      AccountAssociationsService.method.createAccountAssociation,
      { parent: gift.organization, accountAssociation: { name: 'accounts' } },
      guest.token,
    )
    assert.equal(error, undefined)
    await platform.unbind(guest.identity)
    clockOffsetMs = 3_700_000
    try {
      await create(door, await platform.tokenOf(creator.identity, now()), { group: 'next' })
      assert.equal(await countOrganizations('left'), 1)
    } finally {
      clockOffsetMs = 0
    }
  })

  describe('while nobody may create organizations', () => {
    let closed: Platform
    before(async () => {
      closed = await startPlatform(engine, ['--org-creation', 'nobody'])
    })
    after(() => closed.stop())

    test('is refused', async () => {
      for (const door of [restDoor(closed.url), grpcDoor(closed.url)]) {
        const { error } = await door.call(createWithGroup, { group: 'new', ttl: '60s' }, closed.owner.token)
        assert.equal(error?.code, 7)
        door.close()
      }
    })
  })
})
