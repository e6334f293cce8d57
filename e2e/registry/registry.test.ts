// Repos in groups, and tags in repos.
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, violations } from '../contract/examples.ts'

const { getRepo, listRepos, createRepo, updateRepo, deleteRepo, getRepoReadme, updateRepoReadme } =
  ReposService.method
const { getTag, listTags, createTag, updateTag, deleteTag } = TagsService.method
const { listTagHistory } = Registry.method
const { createGroup, deleteGroup } = GroupsService.method

const digest = (character: string) => `sha256:${character.repeat(64)}`
const parentOf = (uid: unknown) => String(uid).replace(/\/[0-9a-f]{16}$/, '')
const names = (list: JsonObject, key: string) => (list[key] as { name: string }[]).map(({ name }) => name)

async function makeRepo({ succeed, owner }: ExampleContext, name = 'static', parent = owner.organization) {
  return (await succeed(createRepo, { parent, repo: { name } })).uid as string
}

const makeTag = (stage: ExampleContext, parent: string, name: string, image = 'a') =>
  stage.succeed(createTag, { parent, tag: { name, digest: digest(image) } })

/** Times have whole milliseconds. A resource that is created after this call has a later time than those before it. */
async function nextMillisecond(): Promise<void> {
  const start = Date.now()
  while (Date.now() <= start) await nextTurn()
}

const assertTally = async ({ platform }: ExampleContext) =>
  assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])

examples('repos', {
  async 'a new repo has a name and times, and no empty fields'({ succeed, owner }) {
    const repo = await succeed(createRepo, { parent: owner.organization, repo: { name: 'tools/static' } })
    const { uid, createTime, updateTime } = repo
    assert.deepEqual(repo, { uid, name: 'tools/static', createTime, updateTime })
    assert.equal(updateTime, createTime)
    assert.equal(parentOf(uid), owner.organization)
    assert.deepEqual(await succeed(getRepo, { uid: uid as string }), repo)
  },

  async 'every field of a repo is stored, and updates change only the named fields'({ succeed, owner }) {
    const fields = {
      name: 'nginx',
      description: 'serves',
      catalogTier: 'CATALOG_TIER_APPLICATION',
      bundles: ['application', 'fips'],
      aliases: ['docker.io/library/nginx:latest'],
      activeTags: ['latest', '1.27'],
    }
    const repo = await succeed(createRepo, { parent: owner.organization, repo: fields })
    const { uid, createTime, updateTime, ...rest } = repo
    assert.deepEqual(rest, fields)
    const changed = await succeed(updateRepo, { repo: { uid: uid as string, description: 'serves well' } })
    assert.deepEqual({ ...changed, updateTime }, { ...repo, description: 'serves well' })
    const cleared = { uid: uid as string, catalogTier: 'CATALOG_TIER_UNSPECIFIED', bundles: [] }
    const remaining = await succeed(updateRepo, {
      repo: cleared,
      updateMask: 'catalogTier,bundles,description',
    })
    assert.deepEqual(Object.keys(remaining).sort(), [
      'activeTags',
      'aliases',
      'createTime',
      'name',
      'uid',
      'updateTime',
    ])
  },

  async 'repo names follow the OCI specification, and the other fields are validated too'({
    fail,
    succeed,
    owner,
  }) {
    const parent = owner.organization
    for (const name of ['Nginx', 'a b', '-a', 'a-', 'a..b', 'a/', '/a', 'a___b', 'ä', '', 'x'.repeat(256)])
      assert.deepEqual(violations(await fail(createRepo, { parent, repo: { name } })), ['name'], name)
    for (const name of ['a', 'a.b', 'a_b', 'a__b', 'a---b', 'a/b/c', '0'])
      await succeed(createRepo, { parent, repo: { name } })
    for (const [field, value] of [
      ['bundles', ['unheard-of']],
      ['aliases', ['no tag']],
      ['activeTags', ['-']],
      ['description', 'x'.repeat(513)],
    ] as const) {
      const error = await fail(createRepo, { parent, repo: { name: 'b', [field]: value as never } })
      assert.match(violations(error)[0] ?? '', new RegExp(`^${field}`))
    }
  },

  async 'two repos of a group cannot have the same name'(stage) {
    const { fail, succeed, owner } = stage
    const parent = owner.organization
    const group = await succeed(createGroup, { parent, group: { name: 'team' } })
    await makeRepo(stage, 'one')
    const two = await makeRepo(stage, 'two')
    await makeRepo(stage, 'one', group.uid as string)
    assert.equal((await fail(createRepo, { parent, repo: { name: 'one' } })).code, 6)
    assert.equal((await fail(updateRepo, { repo: { uid: two, name: 'one' } })).code, 6)
    const all = await succeed(listRepos, { name: 'one' })
    assert.equal(all.totalCount, '2')
  },

  async 'lists are ordered, filtered and counted'(stage) {
    const { succeed, owner } = stage
    const team = await succeed(createGroup, { parent: owner.organization, group: { name: 'team' } })
    for (const name of ['b', 'c', 'a']) await makeRepo(stage, name)
    await nextMillisecond()
    await makeRepo(stage, 'd', team.uid as string)
    const page = await succeed(listRepos, { orderBy: 'name desc', pageSize: 2 })
    assert.deepEqual(names(page, 'repos'), ['d', 'c'])
    assert.equal(page.totalCount, '4')
    const next = await succeed(listRepos, {
      orderBy: 'name desc',
      pageSize: 2,
      pageToken: page.nextPageToken as string,
    })
    assert.deepEqual(names(next, 'repos'), ['b', 'a'])
    const below = await succeed(listRepos, { uidp: { childrenOf: team.uid as string } })
    assert.deepEqual(names(below, 'repos'), ['d'])
    const created = await succeed(listRepos, { orderBy: 'created_at desc', pageSize: 1 })
    assert.deepEqual(names(created, 'repos'), ['d'])
  },

  async 'a group that contains a repo cannot be deleted'(stage) {
    const { succeed, fail, owner } = stage
    const group = await succeed(createGroup, { parent: owner.organization, group: { name: 'team' } })
    const uid = group.uid as string
    const repo = await makeRepo(stage, 'static', uid)
    const error = await fail(deleteGroup, { uid })
    assert.equal(error.code, 9)
    assert.deepEqual(detail(error, 'PreconditionFailure')?.violations, [
      { type: 'RESOURCE_NOT_EMPTY', description: 'cannot delete group with child repos' },
    ])
    await succeed(deleteRepo, { uid: repo })
    await succeed(deleteGroup, { uid })
  },

  async 'deleting a repo deletes its tags'(stage) {
    const { succeed, fail } = stage
    const [repo, other] = [await makeRepo(stage), await makeRepo(stage, 'other')]
    const tag = await makeTag(stage, repo, 'latest')
    await makeTag(stage, repo, '1.0')
    await makeTag(stage, other, 'latest')
    await succeed(deleteRepo, { uid: repo })
    assert.equal((await fail(getTag, { uid: tag.uid as string })).code, 5)
    assert.equal((await succeed(listTags, {})).totalCount, '1')
    assert.equal((await fail(createTag, { parent: repo, tag: { name: 'a', digest: digest('a') } })).code, 5)
    assert.equal((await fail(deleteRepo, { uid: repo })).code, 5)
    await assertTally(stage)
  },

  async 'a readme is stored unchanged if it contains no unsafe HTML'(stage) {
    const { succeed, fail } = stage
    const uid = await makeRepo(stage)
    assert.deepEqual(await succeed(getRepoReadme, { uid }), { uid, content: '' })
    for (const content of [
      '# Static\n\nSee [the docs](https://example.com), `code`, **bold** and\n\n- [ ] a list\n',
      '<details><summary>More</summary>\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n</details>',
      '<p align="center"><img src="https://example.com/logo.svg" alt="logo" width="100"></p>',
      '```js\nalert("<script>")\n```\n\na < b && c > d, &copy; "quoted"',
      '<https://example.com> and mailto: <ada@example.com>',
      '',
    ]) {
      assert.deepEqual(await succeed(updateRepoReadme, { repoReadme: { uid, content } }), { uid, content })
      assert.deepEqual(await succeed(getRepoReadme, { uid }), { uid, content })
    }
    for (const content of [
      '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>',
      '[click](javascript:alert(1))',
      '[click](JaVaScRiPt:alert(1))',
      '<a href="java&#10;script:alert(1)">x</a>',
      '<a href="javascript:alert(1)">x</a>',
      '<a href="data:text/html,<script>alert(1)</script>">x</a>',
      '<iframe src="https://example.com"></iframe>',
      '<style>body { display: none }</style>',
      '<p style="position: fixed">x</p>',
      '<form action="https://evil.example"><input name=a></form>',
      '<svg onload=alert(1)></svg>',
      '<object data="x"></object>',
      '<meta http-equiv="refresh" content="0;url=https://evil.example">',
      '<math><mtext><script>alert(1)</script></mtext></math>',
    ]) {
      const error = await fail(updateRepoReadme, { repoReadme: { uid, content } })
      assert.deepEqual(violations(error), ['content'], content)
    }
    assert.equal((await fail(updateRepoReadme, { repoReadme: { uid, content: 'x'.repeat(65_537) } })).code, 3)
    assert.deepEqual(await succeed(getRepoReadme, { uid }), { uid, content: '' })
  },

  async 'an update of the readme that changes nothing keeps the update time'(stage) {
    const uid = await makeRepo(stage)
    const write = () => stage.succeed(updateRepoReadme, { repoReadme: { uid, content: '# static' } })
    const written = await write()
    const repo = await stage.succeed(getRepo, { uid })
    assert.deepEqual(await write(), written)
    assert.deepEqual(await stage.succeed(getRepo, { uid }), repo)
  },

  async 'an update of the repo keeps its readme, and an update of the readme keeps the repo'(stage) {
    const { succeed } = stage
    const uid = await makeRepo(stage)
    await succeed(updateRepoReadme, { repoReadme: { uid, content: '# read me' } })
    const repo = await succeed(updateRepo, { repo: { uid, description: 'new' } })
    assert.deepEqual(await succeed(getRepoReadme, { uid }), { uid, content: '# read me' })
    await succeed(updateRepoReadme, { repoReadme: { uid, content: '' } })
    const after = await succeed(getRepo, { uid })
    assert.deepEqual({ ...after, updateTime: '' }, { ...repo, updateTime: '' })
    assert.ok(String(after.updateTime) > String(repo.updateTime), 'the entity tag must change too')
  },
})

examples('tags', {
  async 'a tag refers to an image, and creating the tag again moves it to another image'(stage) {
    const { succeed } = stage
    const repo = await makeRepo(stage)
    const tag = await makeTag(stage, repo, 'latest', 'a')
    const { uid, createTime, updateTime } = tag
    assert.deepEqual(tag, {
      ...{ uid, name: 'latest', digest: digest('a'), updateTime, deprecated: false, bundles: [], createTime },
    })
    assert.equal(parentOf(uid), repo)
    assert.deepEqual(await makeTag(stage, repo, 'latest', 'a'), tag, 'nothing has changed')
    const moved = await makeTag(stage, repo, 'latest', 'b')
    assert.deepEqual({ ...moved, updateTime }, { ...tag, digest: digest('b') })
    assert.ok(String(moved.updateTime) > String(updateTime))
    await succeed(createTag, { parent: repo, tag: { name: 'latest', digest: digest('b'), deprecated: true } })
    const digests = async (period: JsonObject = {}) =>
      (
        (await succeed(listTagHistory, { parentId: uid as string, ...period })).items as { digest: string }[]
      ).map((item) => item.digest)
    assert.deepEqual(await digests(), [digest('b'), digest('a')])
    assert.deepEqual(await digests({ end: moved.updateTime as string }), [digest('a')])
    assert.deepEqual(await digests({ start: moved.updateTime as string }), [digest('b')])
    assert.equal((await succeed(listTags, {})).totalCount, '1')
    await assertTally(stage)
  },

  async 'a caller who may only create tags cannot move or change an existing one'(stage) {
    const { succeed, fail, owner, platform } = stage
    const parent = await makeRepo(stage)
    const { token } = await platform.addIdentityWith(owner.organization, ['CAP_TAG_CREATE'])
    const tag = { name: 'latest', digest: digest('a') }
    const { uid } = await succeed(createTag, { parent, tag }, token)
    for (const change of [{ digest: digest('b') }, { deprecated: true }, {}]) {
      const error = await fail(createTag, { parent, tag: { ...tag, ...change } }, token)
      assert.equal(error.code, 7)
      assert.match(error.message, /tag\.update/)
    }
    assert.equal((await succeed(getTag, { uid: uid as string })).digest, digest('a'))
  },

  async 'a tag can be updated in part, and a move is recorded in its history'(stage) {
    const { succeed, fail } = stage
    const repo = await makeRepo(stage)
    const tag = await makeTag(stage, repo, '1.2', 'a')
    const uid = tag.uid as string
    const deprecated = await succeed(updateTag, { tag: { uid, deprecated: true } })
    assert.deepEqual({ ...deprecated, updateTime: tag.updateTime }, { ...tag, deprecated: true })
    const moved = await succeed(updateTag, { tag: { uid, digest: digest('b') } })
    assert.deepEqual([moved.digest, moved.deprecated], [digest('b'), true])
    const { items } = await succeed(listTagHistory, { parentId: uid })
    assert.equal((items as unknown[]).length, 2)
    await succeed(updateTag, { tag: { uid, name: '1.2-r3' } })
    assert.equal((await succeed(listTags, {})).totalCount, '0', 'epoch tags are not listed by default')
    await makeTag(stage, repo, 'latest')
    assert.equal((await fail(updateTag, { tag: { uid, name: 'latest' } })).code, 6)
    assert.deepEqual(violations(await fail(updateTag, { tag: { uid, digest: 'x' } })), ['digest'])
  },

  async 'lists leave out referrer, date and epoch tags unless the request includes them'(stage) {
    const { succeed } = stage
    const repo = await makeRepo(stage)
    const ordinary = ['latest', '1.2', '1.2-rc1', 'v1-r', '1-20261301', 'sha256x']
    const referrers = [`sha256-${'a'.repeat(64)}.sig`]
    const dates = ['1.2-20260131', 'latest-20251231']
    const epochs = ['1.2-r3', 'latest-r0']
    for (const name of [...ordinary, ...referrers, ...dates, ...epochs]) await makeTag(stage, repo, name)
    const shown = async (request: JsonObject) => {
      const list = await succeed(listTags, { orderBy: 'name', ...request })
      assert.equal(list.totalCount, String(names(list, 'tags').length))
      return names(list, 'tags').sort()
    }
    assert.deepEqual(await shown({}), [...ordinary].sort())
    assert.deepEqual(await shown({ includeReferrers: true }), [...ordinary, ...referrers].sort())
    assert.deepEqual(await shown({ includeDates: true }), [...ordinary, ...dates].sort())
    assert.deepEqual(
      await shown({ includeEpochs: true, includeDates: true }),
      [...ordinary, ...dates, ...epochs].sort(),
    )
    const all = { includeReferrers: true, includeDates: true, includeEpochs: true }
    assert.deepEqual(await shown(all), [...ordinary, ...referrers, ...dates, ...epochs].sort())
    assert.deepEqual(await shown({ name: '1.2-r3' }), ['1.2-r3'], 'a filter by name finds every tag')
  },

  async 'lists filter tags by repo, group, digest and time'(stage) {
    const { succeed, owner } = stage
    const [one, two] = [await makeRepo(stage, 'one'), await makeRepo(stage, 'two')]
    await makeTag(stage, one, 'a', 'a')
    await nextMillisecond()
    const middle = await makeTag(stage, one, 'b', 'b')
    await nextMillisecond()
    await makeTag(stage, two, 'a', 'b')
    const namesOf = async (filter: JsonObject) =>
      names(await succeed(listTags, { orderBy: 'create_time', ...filter }), 'tags')
    assert.deepEqual(await namesOf({ uidp: { childrenOf: one } }), ['a', 'b'])
    assert.deepEqual(await namesOf({ uidp: { descendantsOf: owner.organization } }), ['a', 'b', 'a'])
    assert.deepEqual(await namesOf({ uidp: { childrenOf: owner.organization } }), [])
    assert.deepEqual(await namesOf({ digest: digest('b') }), ['b', 'a'])
    assert.deepEqual(await namesOf({ updatedSince: middle.updateTime as string }), ['a'])
    assert.deepEqual(await namesOf({ name: 'a', digest: digest('a') }), ['a'])
  },

  async 'tag names and digests follow the OCI specification'(stage) {
    const { fail } = stage
    const repo = await makeRepo(stage)
    for (const name of ['', '-a', '.a', 'a/b', 'a b', 'x'.repeat(129), 'ä'])
      assert.deepEqual(
        violations(await fail(createTag, { parent: repo, tag: { name, digest: digest('a') } })),
        ['name'],
      )
    for (const wrong of ['', 'a', 'sha256:a', digest('g'), digest('A'), `md5:${'a'.repeat(32)}`])
      assert.deepEqual(
        violations(await fail(createTag, { parent: repo, tag: { name: 'a', digest: wrong } })),
        ['digest'],
      )
  },

  async 'a tag can be created only in a repo, and deleting the tag keeps the repo'(stage) {
    const { succeed, fail, owner } = stage
    const repo = await makeRepo(stage)
    const { uid } = await makeTag(stage, repo, 'latest')
    const tag = { name: 'a', digest: digest('a') }
    const error = await fail(createTag, { parent: owner.organization, tag })
    assert.equal(error.code, 5)
    assert.equal(detail(error, 'ResourceInfo')?.resourceType, 'platform.registry.v2beta1.Repo')
    await succeed(deleteTag, { uid: uid as string })
    assert.equal((await fail(deleteTag, { uid: uid as string })).code, 5)
    await succeed(getRepo, { uid: repo })
    await assertTally(stage)
  },
})
