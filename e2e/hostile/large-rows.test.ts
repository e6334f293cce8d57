// Resources as large as they may be: pages end at a number of bytes, whatever they contain.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { GroupAccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const { createGroup } = GroupsService.method
const { createAccountAssociation, listAccountAssociations } = AccountAssociationsService.method

/** Clients of gRPC refuse larger messages, also the one of these tests. */
const maxResponseBytes = 4 * 1024 * 1024

/** Installations of `apps` apps with 1000 installations each, about 110 KB of JSON for each app. */
function installations(apps: number): JsonObject {
  const entries = Array.from({ length: 1000 }, (_, at) => ({
    installationId: String(10_000_000 + at),
    name: 'n'.repeat(60),
  }))
  return Object.fromEntries(Array.from({ length: apps }, (_, at) => [at + 1, { installations: entries }]))
}

const large = installations(8)
const count = 12

onEachStore('lists of large resources', (engine) => {
  let platform: Platform
  let doors: Door[]
  const uids: string[] = []

  before(async () => {
    platform = await startPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    const { organization, token } = platform.owner
    for (let at = 0; at < count; at++) {
      const group = await call(createGroup, { parent: organization, group: { name: `team-${at % 3}` } })
      // Small rows are between large ones.
      const github = at % 4 === 3 ? {} : { github: { appInstallations: large } }
      const accountAssociation = { name: `team-${at % 3}`, ...github }
      const { uid } = await call(createAccountAssociation, {
        parent: group.uid as string,
        accountAssociation,
      })
      uids.push(uid as string)
    }
    async function call(method: DescMethod, request: JsonObject): Promise<JsonObject> {
      const { body, error } = await restDoor(platform.url).call(method, request, token)
      assert.ok(body, error?.message)
      return body
    }
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  /** The uids of every page, whose size and total are checked. */
  async function pagesOf(door: Door, request: JsonObject, total: number): Promise<string[][]> {
    const pages: string[][] = []
    let pageToken = ''
    do {
      const { skip = 0, ...rest } = request
      const sent = { ...rest, pageToken, skip: pageToken === '' ? skip : 0 }
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

  const queries: [what: string, request: () => JsonObject, total?: number, expected?: number][] = [
    ['by uid', () => ({ pageSize: 200 })],
    ['in pages of the usual size', () => ({})],
    ['in pages of an unusual size', () => ({ pageSize: 11 })],
    ['by name', () => ({ pageSize: 200, orderBy: 'name desc' })],
    ['by three fields', () => ({ pageSize: 100, orderBy: 'name, create_time desc' })],
    ['with rows to skip', () => ({ pageSize: 200, skip: 1 }), count, count - 1],
    ['by uids', () => ({ pageSize: 200, uidp: { ids: uids } })],
    ['by uids in another order', () => ({ pageSize: 10, orderBy: 'create_time', uidp: { ids: uids } })],
    ['with a filter', () => ({ pageSize: 200, name: 'team-1' }), 4],
  ]
  for (const [what, request, total = count, expected = total] of queries)
    test(`${what} have small pages, which contain every resource once`, async () => {
      const found: string[][] = []
      for (const door of doors) {
        const pages = await pagesOf(door, request(), total)
        if (expected > 6) assert.ok(pages.length > 1, `${door.name} has one page`)
        found.push(pages.flat())
        assert.equal(new Set(pages.flat()).size, expected)
        assert.equal(pages.flat().length, expected)
      }
      assert.deepEqual(found[0], found[1])
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
