// docs/specification.md, Lists: paging, ordering, skipping, filters, totals and limits.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { GroupSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { ExampleContext } from './examples.ts'
import { examples, violations } from './examples.ts'

const { listGroups, createGroup } = GroupsService.method

type GroupPage = {
  groups: { uid: string; name: string; createTime: string }[]
  nextPageToken?: string
  totalCount: string
  skipped: number
}

/** The time of the server. It advances before each new group, so that create times differ. */
let clock = Date.now()

async function makeGroups(
  { succeed, owner }: ExampleContext,
  names: string[],
  parent = owner.organization,
): Promise<string[]> {
  const uids: string[] = []
  for (const name of names) {
    clock += 1
    uids.push((await succeed(createGroup, { parent, group: { name } })).uid as string)
  }
  return uids
}

/** Writes groups in one statement. Their uids ascend, so that lists have the same order through both doors. */
async function writeGroups({ platform, owner }: ExampleContext, count: number): Promise<void> {
  const entryAt = (at: number) => ({
    uid: newChildUid(owner.organization, clock, (size) => Buffer.alloc(size, at)),
    now: clock,
  })
  const drafts = Array.from({ length: count }, (_, at) => create(GroupSchema, { name: `g${at}` }))
  await platform.store.write(() =>
    createMany(
      groups,
      drafts.map((draft, at) => [draft, entryAt(at)]),
    ),
  )
}

const list = async ({ succeed }: ExampleContext, request: JsonObject) =>
  (await succeed(listGroups, request)) as unknown as GroupPage
const names = ({ groups }: GroupPage) => groups.map(({ name }) => name)

async function listPages(stage: ExampleContext, request: JsonObject): Promise<GroupPage[]> {
  const pages = [await list(stage, request)]
  for (let last = pages[0]; last?.nextPageToken; last = pages.at(-1)) {
    pages.push(await list(stage, { ...request, pageToken: last.nextPageToken }))
  }
  return pages
}

examples(
  'lists',
  {
    async 'a response has the fields groups, totalCount and skipped, and no token on the last page'(stage) {
      await makeGroups(stage, ['a'])
      const page = await list(stage, { uidp: { descendantsOf: stage.owner.organization } })
      assert.deepEqual(Object.keys(page), ['groups', 'totalCount', 'skipped'])
      assert.equal(page.totalCount, '1')
      assert.equal(page.skipped, 0)
    },

    async 'a page has 50 results by default and at most 200'(stage) {
      await writeGroups(stage, 205)
      const uidp = { childrenOf: stage.owner.organization }
      for (const [pageSize, expected] of [
        [0, 50],
        [1, 1],
        [200, 200],
        [201, 200],
        [2147483647, 200],
      ] as const) {
        const page = await list(stage, pageSize === 0 ? { uidp } : { uidp, pageSize })
        assert.equal(page.groups.length, expected)
        assert.equal(page.totalCount, '205')
        assert.ok(page.nextPageToken)
      }
    },

    async 'paging returns every group once, in every order'(stage) {
      await makeGroups(stage, ['d', 'a', 'c', 'a', 'b', 'e', 'a'])
      const uidp = { childrenOf: stage.owner.organization }
      for (const orderBy of [
        '',
        'uid',
        'name',
        'name desc',
        'created_at desc',
        'create_time',
        'updateTime desc',
        'name, create_time desc',
        ' name  asc ',
      ]) {
        const pages = await listPages(stage, { uidp, pageSize: 2, orderBy })
        const paged = pages.flatMap(({ groups }) => groups)
        const whole = await list(stage, { uidp, orderBy })
        assert.deepEqual(paged, whole.groups, orderBy)
        assert.equal(new Set(paged.map(({ uid }) => uid)).size, 7)
        assert.deepEqual(
          pages.map(({ totalCount }) => totalCount),
          ['7', '7', '7', '7'],
        )
      }
      assert.deepEqual(names(await list(stage, { uidp, orderBy: 'name' })), [
        'a',
        'a',
        'a',
        'b',
        'c',
        'd',
        'e',
      ])
      assert.deepEqual(names(await list(stage, { uidp, orderBy: 'name desc' })), [
        'e',
        'd',
        'c',
        'b',
        'a',
        'a',
        'a',
      ])
      assert.deepEqual(names(await list(stage, { uidp, orderBy: 'created_at desc' })), [
        'a',
        'e',
        'b',
        'a',
        'c',
        'a',
        'd',
      ])
      const byUid = await list(stage, { uidp })
      assert.deepEqual(
        byUid.groups.map(({ uid }) => uid),
        byUid.groups.map(({ uid }) => uid).sort(),
      )
    },

    async 'skip omits the first results of the ordered list, and the response states their number'(stage) {
      await makeGroups(stage, ['a', 'b', 'c', 'd', 'e'])
      const uidp = { childrenOf: stage.owner.organization }
      const page = await list(stage, { uidp, orderBy: 'name', skip: 2, pageSize: 2 })
      assert.deepEqual([names(page), page.skipped, page.totalCount], [['c', 'd'], 2, '5'])
      const next = await list(stage, {
        uidp,
        orderBy: 'name',
        pageSize: 2,
        pageToken: page.nextPageToken ?? '',
      })
      assert.deepEqual([names(next), next.skipped], [['e'], 0])
      const beyond = await list(stage, { uidp, skip: 9 })
      assert.deepEqual([names(beyond), beyond.skipped, beyond.totalCount], [[], 9, '5'])
      const skippedAfterToken = await list(stage, {
        uidp,
        orderBy: 'name',
        pageSize: 1,
        skip: 1,
        pageToken: (await list(stage, { uidp, orderBy: 'name', pageSize: 1 })).nextPageToken ?? '',
      })
      assert.deepEqual(names(skippedAfterToken), ['c'])
    },

    async 'filters by group and exact name can be combined'(stage) {
      const { organization } = stage.owner
      const [left = '', right = ''] = await makeGroups(stage, ['left', 'right'])
      const [inner = ''] = await makeGroups(stage, ['x', 'y'], left)
      await makeGroups(stage, ['x'], right)
      await makeGroups(stage, ['x', 'x2'], inner)
      const namesIn = async (uidp: JsonObject, filters: JsonObject = {}) => {
        const page = await list(stage, { uidp, orderBy: 'create_time', ...filters })
        assert.equal(page.totalCount, String(page.groups.length))
        return names(page)
      }
      assert.deepEqual(await namesIn({ descendantsOf: organization }), [
        'left',
        'right',
        'x',
        'y',
        'x',
        'x',
        'x2',
      ])
      assert.deepEqual(await namesIn({ descendantsOf: left }), ['x', 'y', 'x', 'x2'])
      assert.deepEqual(await namesIn({ childrenOf: left }), ['x', 'y'])
      assert.deepEqual(await namesIn({ descendantsOf: organization }, { name: 'x' }), ['x', 'x', 'x'])
      assert.deepEqual(await namesIn({ descendantsOf: left }, { name: 'x' }), ['x', 'x'])
      assert.deepEqual(await namesIn({ childrenOf: organization }, { name: 'x' }), [])
      assert.deepEqual(await namesIn({ ancestorsOf: inner }), ['acme', 'left'])
      assert.deepEqual(await namesIn({ inRoot: true }), ['acme'])
      assert.deepEqual(await namesIn({ ids: [inner, right, right] }), ['right', 'x'])
      assert.deepEqual(await namesIn({ ids: [inner, right], descendantsOf: left }), ['x'])
      assert.deepEqual(await namesIn({ descendantsOf: `${left}/${'0'.repeat(16)}` }), [])
      assert.deepEqual(await namesIn({}), ['acme', 'left', 'right', 'x', 'y', 'x', 'x', 'x2'])
    },

    async 'a changed filter or order makes a token invalid, a changed page size does not'(stage) {
      await makeGroups(stage, ['a', 'b', 'c', 'd'])
      const uidp = { childrenOf: stage.owner.organization }
      const { nextPageToken: pageToken = '' } = await list(stage, { uidp, orderBy: 'name', pageSize: 1 })
      assert.deepEqual(names(await list(stage, { uidp, orderBy: 'name', pageSize: 2, pageToken })), [
        'b',
        'c',
      ])
      for (const request of [
        { uidp, pageToken },
        { uidp, orderBy: 'name desc', pageToken },
        { uidp, orderBy: 'name', name: 'b', pageToken },
        { orderBy: 'name', pageToken },
      ]) {
        const error = await stage.fail(listGroups, request)
        assert.equal(error.code, 3)
        assert.deepEqual(violations(error), ['pageToken'])
      }
    },

    async 'a forged token is refused'(stage) {
      const uidp = { childrenOf: stage.owner.organization }
      for (const pageToken of ['x', 'AAAA', 'a'.repeat(3000), Buffer.alloc(80, 7).toString('base64url')]) {
        assert.deepEqual(violations(await stage.fail(listGroups, { uidp, pageToken })), ['pageToken'])
      }
    },

    async 'a token older than three days restarts the list without an error'(stage) {
      await makeGroups(stage, ['a', 'b', 'c'])
      const uidp = { childrenOf: stage.owner.organization }
      const { nextPageToken: pageToken = '' } = await list(stage, { uidp, orderBy: 'name', pageSize: 1 })
      const laterAccessToken = await stage.platform.tokenOf(stage.owner.identity, clock + 3 * 24 * 3600_000)
      clock += 3 * 24 * 3600_000
      assert.deepEqual(
        (
          (
            await stage.succeed(
              listGroups,
              { uidp, orderBy: 'name', pageSize: 1, pageToken },
              laterAccessToken,
            )
          ).groups as { name: string }[]
        ).map(({ name }) => name),
        ['b'],
      )
      clock += 1
      for (const orderBy of ['name', 'name desc']) {
        const page = (await stage.succeed(
          listGroups,
          { uidp, orderBy, pageSize: 1, pageToken },
          laterAccessToken,
        )) as unknown as GroupPage
        assert.deepEqual(names(page), orderBy === 'name' ? ['a'] : ['c'])
      }
    },

    async 'errors name the invalid parameter'(stage) {
      for (const [request, field] of [
        [{ pageSize: -1 }, 'pageSize'],
        [{ skip: -1 }, 'skip'],
        [{ orderBy: 'description' }, 'orderBy'],
        [{ orderBy: 'name down' }, 'orderBy'],
        [{ orderBy: 'name,,uid' }, 'orderBy'],
        [{ orderBy: 'name, name desc' }, 'orderBy'],
        [{ uidp: { childrenOf: 'acme' } }, 'uidp.childrenOf'],
        [{ uidp: { descendantsOf: 'A'.repeat(40) } }, 'uidp.descendantsOf'],
        [{ uidp: { ids: ['x'] } }, 'uidp.ids[0]'],
      ] as [JsonObject, string][]) {
        const error = await stage.fail(listGroups, request)
        assert.equal(error.code, 3)
        assert.deepEqual(violations(error), [field])
      }
    },

    async 'a list contains exactly the groups that the caller may see'(stage) {
      const { platform, owner } = stage
      const [left = '', right = ''] = await makeGroups(stage, ['left', 'right'])
      const [inner = ''] = await makeGroups(stage, ['inner'], left)
      const viewer = await platform.addIdentity(owner.organization, 'viewer', left)
      const namesSeen = async (request: JsonObject) => {
        const page = (await stage.succeed(
          listGroups,
          { orderBy: 'name', ...request },
          viewer.token,
        )) as unknown as GroupPage
        assert.equal(page.totalCount, String(page.groups.length))
        return names(page)
      }
      assert.deepEqual(await namesSeen({}), ['inner', 'left'])
      assert.deepEqual(await namesSeen({ uidp: { descendantsOf: owner.organization } }), ['inner', 'left'])
      assert.deepEqual(await namesSeen({ uidp: { childrenOf: owner.organization } }), ['left'])
      assert.deepEqual(await namesSeen({ uidp: { ids: [right, inner, owner.organization] } }), ['inner'])
      assert.deepEqual(await namesSeen({ uidp: { ancestorsOf: inner } }), ['left'])
      assert.deepEqual(await namesSeen({ uidp: { childrenOf: right } }), [])
      assert.deepEqual(await namesSeen({ name: 'right' }), [])
    },
  },
  () => clock,
)
