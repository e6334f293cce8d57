// The size of each resource, and of each page of a list, is limited.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { create, fromJson } from '@bufbuild/protobuf'
import { GroupAccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import {
  AccountAssociationSchema,
  AccountAssociationsService,
} from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { AdvisorySchema, ReviewState } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { accountAssociations } from '../../server/resources/iam/account-associations/table.ts'
import { createAdvisory } from '../../server/resources/vulnerabilities/advisories/write.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { CallResult, Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const { createAccountAssociation, getAccountAssociation, listAccountAssociations, updateAccountAssociation } =
  AccountAssociationsService.method

/** gRPC clients, including the one in these tests, refuse larger messages. */
const maxResponseBytes = 4 * 1024 * 1024

/** Installations of ten apps, about 800 bytes each. Few long names take less time than many short ones. */
function installations(countOfApp: number): JsonObject {
  const entries = Array.from({ length: countOfApp }, () => ({ installationId: 1, name: '語'.repeat(254) }))
  return Object.fromEntries(Array.from({ length: 10 }, (_, at) => [at + 1, { installations: entries }]))
}

/** 0.87 MB, so a page has room for four. */
const large = installations(110)
const resourceCount = 7

/**
 * Within the limit of 1,048,576 bytes as sent (1,047,100), and beyond it as stored (1,049,700): the stored JSON has each
 * installation id in quotes.
 */
const tooLarge = installations(132)

onEachStore('a resource that is too large', (engine) => {
  let platform: Platform
  let doors: [Door, Door]
  before(async () => {
    platform = await sharedPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  const assertRefused = ({ error }: CallResult, what: string, field: string) => {
    assert.equal(error?.code, 3, what)
    assert.match(error?.message ?? '', /is too large: the resource must have at most 1048576 bytes as JSON/)
    const fields = error?.details.flatMap(
      ({ fieldViolations = [] }) => fieldViolations as { field: string }[],
    )
    assert.deepEqual(
      fields?.map((violation) => violation.field),
      [field],
      what,
    )
  }

  test('is refused by create and update, in v2 and v1', async () => {
    const { organization, token } = platform.owner
    const association = { name: 'accounts', github: { appInstallations: tooLarge } }
    const { create: createV1, update: updateV1 } = GroupAccountAssociations.method
    for (const door of doors) {
      const creation = { parent: organization, accountAssociation: association }
      assertRefused(await door.call(createAccountAssociation, creation, token), `${door.name} v2`, 'github')
      const v1Request = { group: organization, ...association }
      assertRefused(await door.call(createV1, v1Request, token), `${door.name} v1`, 'github')
    }
    const small = { parent: organization, accountAssociation: { name: 'accounts' } }
    const { body: created } = await doors[0].call(createAccountAssociation, small, token)
    for (const door of doors) {
      const request = { accountAssociation: { uid: organization, ...association } }
      assertRefused(await door.call(updateAccountAssociation, request, token), `${door.name} v2`, 'github')
      const v1Request = { group: organization, ...association }
      assertRefused(await door.call(updateV1, v1Request, token), `${door.name} v1`, 'github')
      const { body } = await door.call(getAccountAssociation, { uid: organization }, token)
      assert.deepEqual(body, created)
    }
  })

  test('is also refused if it is an advisory whose JSON is too large but whose binary form is not', async () => {
    const event = {
      ...{ author: 'ada', reviewState: ReviewState.APPROVED },
      type: { case: 'fixed', value: { fixedVersion: '1', note: '\u0001'.repeat(8000) } } as const,
    }
    const base = { author: 'ada', artifactName: 'nginx', artifactType: 'apk' }
    const draft = create(AdvisorySchema, { ...base, events: Array.from({ length: 60 }, () => event) })
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    await assert.rejects(
      platform.store.write(() => createAdvisory(context, platform.owner.organization, draft)),
      /events: is too large: the resource must have at most 1048576 bytes as JSON/,
    )
  })
})

onEachStore('lists of large resources', (engine) => {
  let platform: Platform
  let doors: [Door, Door]
  const uids: string[] = []

  before(async () => {
    platform = await sharedPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    const { organization } = platform.owner
    for (let at = 0; at < resourceCount; at++)
      uids.push(await platform.addGroup(organization, `team-${at % 3}`))
    await platform.store.write(() =>
      createMany(
        accountAssociations,
        uids.map((uid, at) => {
          // One association is small.
          const github = at === 3 ? {} : { github: { appInstallations: large } }
          const association = fromJson(AccountAssociationSchema, { name: `team-${at % 3}`, ...github })
          return [association, { uid, now: Date.now() + at }]
        }),
      ),
    )
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  /** Returns the uids on each page. Checks the size of each page and the total that it reports. */
  async function pagesOf(door: Door, request: JsonObject, total: number): Promise<string[][]> {
    const pages: string[][] = []
    let pageToken = ''
    do {
      const { skip = 0, ...query } = request
      const sent = { ...query, pageToken, skip: pageToken === '' ? skip : 0 }
      const { body, error } = await door.call(listAccountAssociations, sent, platform.owner.token)
      assert.ok(body, error?.message)
      assert.equal(body.totalCount, String(total))
      if (door.name === 'REST') assert.ok(Buffer.byteLength(JSON.stringify(body)) <= maxResponseBytes)
      pages.push((body.accountAssociations as { uid: string }[]).map(({ uid }) => uid))
      assert.ok(pages.at(-1)?.length, 'a page is empty')
      pageToken = (body.nextPageToken as string | undefined) ?? ''
    } while (pageToken !== '')
    return pages
  }

  const queries: [what: string, request: () => JsonObject, total?: number, listedCount?: number][] = [
    ['ordered by uid', () => ({ pageSize: 200 })],
    ['with the default page size', () => ({})],
    ['ordered by name', () => ({ pageSize: 200, orderBy: 'name desc' })],
    ['ordered by two fields', () => ({ pageSize: 5, orderBy: 'name, create_time desc' })],
    ['with a row to skip', () => ({ pageSize: 200, skip: 1 }), resourceCount, resourceCount - 1],
    [
      'filtered by uids and ordered by creation time',
      () => ({ pageSize: 5, orderBy: 'create_time', uidp: { ids: uids } }),
    ],
    ['filtered by uids', () => ({ pageSize: 200, uidp: { ids: uids } })],
    ['filtered by name', () => ({ pageSize: 200, name: 'team-1' }), 2],
  ]
  for (const [at, [what, request, total = resourceCount, listedCount = total]] of queries.entries())
    test(`${what} have pages of limited size, which omit and repeat no resource`, async () => {
      // One door for each query: the form in which a door reads rows does not depend on their order and filters.
      const pages = await pagesOf(doors[at % 2] as Door, request(), total)
      // The two resources of the list filtered by name fit into one page.
      if (listedCount > 2) assert.ok(pages.length > 1, 'there is one page')
      assert.equal(new Set(pages.flat()).size, listedCount)
      assert.equal(pages.flat().length, listedCount)
    })

  describe('of v1', () => {
    test('contain every resource', async () => {
      const { body, error } = await restDoor(platform.url).call(
        GroupAccountAssociations.method.list,
        {},
        platform.owner.token,
      )
      assert.ok(body, error?.message)
      assert.deepEqual((body.items as { group: string }[]).map(({ group }) => group).sort(), uids.toSorted())
    })
  })
})
