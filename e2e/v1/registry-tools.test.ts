// The calls that infrastructure tools such as Terraform make for tags: create, read, change each field, delete, read
// again.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, violations } from '../contract/examples.ts'

const v1 = Registry.method
const v2 = TagsService.method

const digest = (character: string) => `sha256:${character.repeat(64)}`
const itemsOf = (list: JsonObject) => list.items as JsonObject[]

/** Reads a repo or tag as the tool does: with a list that has exactly one item. */
async function readOne(stage: ExampleContext, method: typeof v1.listTags, id: string) {
  const items = itemsOf(await stage.succeed(method, { id }))
  assert.equal(items.length, 1)
  return items[0] as JsonObject
}

const makeRepo = async ({ succeed, owner }: ExampleContext, repo: JsonObject = { name: 'nginx' }) =>
  succeed(v1.createRepo, { parentId: owner.organization, repo })

examples('a tag without a digest', {
  async 'is created, read, changed and deleted as tools do'(stage) {
    const { succeed } = stage
    const repoId = (await makeRepo(stage)).id as string
    const tag = { name: 'latest', bundles: ['application', 'fips'] }
    const created = await succeed(v1.createTag, { repoId, tag })
    const { id, lastUpdated } = created
    assert.deepEqual(created, { id, lastUpdated, digest: '', deprecated: false, ...tag } as JsonObject)
    assert.ok(lastUpdated)
    assert.deepEqual(await readOne(stage, v1.listTags, id as string), created)
    for (const change of [{ bundles: ['base'] }, { deprecated: true }, { name: 'newest' }] as JsonObject[]) {
      const current = await readOne(stage, v1.listTags, id as string)
      const { lastUpdated: before, ...fields } = current
      const updated = await succeed(v1.updateTag, { ...fields, ...change })
      assert.deepEqual({ ...updated, lastUpdated: before as string }, { ...current, ...change } as JsonObject)
      assert.deepEqual(await readOne(stage, v1.listTags, id as string), updated)
    }
    assert.deepEqual(await succeed(v1.deleteTag, { id: id as string }), {})
    assert.deepEqual(await succeed(v1.listTags, { id: id as string }), { items: [] })
  },

  async 'has no history until it names an image, and then keeps an image for good'(stage) {
    const { succeed, fail } = stage
    const repoId = (await makeRepo(stage)).id as string
    const id = (await succeed(v1.createTag, { repoId, tag: { name: 'latest' } })).id as string
    assert.deepEqual(await succeed(v1.listTagHistory, { parentId: id }), { items: [] })
    const absent = await succeed(v2.getTag, { uid: id })
    assert.deepEqual(Object.keys(absent).includes('digest'), false, 'v2 leaves the digest out')
    const changed = await succeed(v2.updateTag, { tag: { uid: id, deprecated: true } })
    assert.deepEqual([changed.digest, changed.deprecated], [undefined, true])
    assert.deepEqual(await succeed(v1.listTagHistory, { parentId: id }), { items: [] })
    assert.equal((await succeed(v2.listTags, { uidp: { childrenOf: repoId } })).totalCount, '1')
    assert.equal((await succeed(v2.listTags, { digest: digest('a') })).totalCount, '0')

    const pushed = await succeed(v2.createTag, {
      parent: repoId,
      tag: { name: 'latest', digest: digest('a') },
    })
    assert.deepEqual([pushed.uid, pushed.digest], [id, digest('a')])
    assert.equal(itemsOf(await succeed(v1.listTagHistory, { parentId: id })).length, 1)
    const again = await succeed(v1.createTag, { repoId, tag: { name: 'latest', bundles: ['base'] } })
    assert.deepEqual([again.id, again.digest, again.bundles], [id, digest('a'), ['base']])
    for (const updateMask of ['digest', '*']) {
      const removal = { tag: { uid: id, name: 'latest' }, updateMask }
      assert.deepEqual(violations(await fail(v2.updateTag, removal)), ['digest'])
    }
    assert.equal((await succeed(v2.getTag, { uid: id })).digest, digest('a'))
  },

  async 'cannot be created with v2, where the digest is required'(stage) {
    const { fail, owner, platform } = stage
    const parent = (await makeRepo(stage)).id as string
    const error = await fail(v2.createTag, { parent, tag: { name: 'latest' } })
    assert.match(error.message, /digest: is required and must be sha256:/)
    const stranger = await platform.addIdentity('')
    const request = { repoId: parent, tag: { name: 'latest' } }
    assert.equal((await fail(v1.createTag, request, stranger.token)).code, 7)
    const reader = await platform.addIdentityWith(owner.organization, ['CAP_TAG_LIST'])
    assert.equal((await fail(v1.createTag, request, reader.token)).code, 7)
  },
})
