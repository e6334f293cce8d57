// Immutable tags cannot be moved or deleted, neither through the API nor by registry clients.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples } from '../contract/examples.ts'
import { descriptor, digestOf, imageOf, ociClient, types } from './oci-client.ts'

const { createRepo, updateRepo, deleteRepo, getRepo } = ReposService.method
const { createTag, updateTag, deleteTag, getTag } = TagsService.method
const v1 = Registry.method

const digest = (character: string) => `sha256:${character.repeat(64)}`

const makeRepo = async ({ succeed, owner }: ExampleContext, immutableTags: string[] = ['v*']) =>
  (await succeed(createRepo, { parent: owner.organization, repo: { name: 'web', immutableTags } }))
    .uid as string

const makeTag = async ({ succeed }: ExampleContext, parent: string, name: string, image = 'a') =>
  (await succeed(createTag, { parent, tag: { name, digest: digest(image) } })).uid as string

const assertImmutable = async (outcome: ReturnType<ExampleContext['fail']>, text: RegExp) => {
  const error = await outcome
  assert.equal(error.code, 9)
  const { violations } = detail(error, 'PreconditionFailure') as unknown as {
    violations: { type: string; description: string }[]
  }
  assert.equal(violations[0]?.type, 'TAG_IMMUTABLE')
  assert.match(violations[0]?.description ?? '', text)
}

examples('immutable tags in the API', {
  async 'are created, and then neither moved, renamed nor deleted'(stage) {
    const { succeed, fail } = stage
    const repo = await makeRepo(stage)
    const uid = await makeTag(stage, repo, 'v1')
    const moved = { name: 'v1', digest: digest('b') }
    await assertImmutable(
      fail(createTag, { parent: repo, tag: moved }),
      /^tag v1 cannot be moved.* pattern v\* /,
    )
    await assertImmutable(fail(updateTag, { tag: { uid, digest: digest('b') } }), /cannot be moved/)
    await assertImmutable(fail(updateTag, { tag: { uid, name: 'w1' } }), /cannot be renamed/)
    await assertImmutable(fail(deleteTag, { uid }), /cannot be deleted/)
    for (const [method, request] of [
      [v1.createTag, { repoId: repo, tag: moved }],
      [v1.updateTag, { id: uid, ...moved }],
      [v1.updateTag, { id: uid, name: 'w1' }],
      [v1.deleteTag, { id: uid }],
    ] as const)
      assert.equal((await fail(method, request)).code, 9, method.name)
    assert.equal((await succeed(getTag, { uid })).digest, digest('a'))
  },

  async 'can be created again with the same digest, and their other fields can change'(stage) {
    const { succeed } = stage
    const repo = await makeRepo(stage)
    const uid = await makeTag(stage, repo, 'v1')
    assert.equal(await makeTag(stage, repo, 'v1'), uid)
    assert.equal((await succeed(updateTag, { tag: { uid, deprecated: true } })).deprecated, true)
    await succeed(v1.createTag, { repoId: repo, tag: { name: 'v2' } })
    await makeTag(stage, repo, 'v2')
    const other = await makeTag(stage, repo, 'latest')
    assert.equal(await makeTag(stage, repo, 'latest', 'b'), other)
    await succeed(updateTag, { tag: { uid: other, name: 'v3' } })
  },

  async 'become mutable when the pattern is removed, and only then can the repo be deleted'(stage) {
    const { succeed, fail } = stage
    const repo = await makeRepo(stage, ['release-*', '*-final'])
    await makeTag(stage, repo, 'latest')
    const uid = await makeTag(stage, repo, '1.0-final')
    await assertImmutable(
      fail(deleteRepo, { uid: repo }),
      /while it has tag 1\.0-final, .* pattern \*-final /,
    )
    assert.equal((await fail(v1.deleteRepo, { id: repo })).code, 9)
    const removal: JsonObject = { repo: { uid: repo, immutableTags: ['release-*'] } }
    await succeed(updateRepo, removal)
    await succeed(deleteTag, { uid })
    await succeed(deleteRepo, { uid: repo })
  },

  async 'include tags that are older than the pattern, and callers without access learn nothing about them'(
    stage,
  ) {
    const { succeed, fail, platform, owner } = stage
    const repo = await makeRepo(stage, [])
    const uid = await makeTag(stage, repo, 'latest')
    await succeed(updateRepo, { repo: { uid: repo, immutableTags: ['*'] } })
    await assertImmutable(fail(deleteTag, { uid }), /pattern \* /)
    const { token } = await platform.addIdentity(owner.organization, 'registry.pull')
    assert.equal((await fail(deleteTag, { uid }, token)).code, 7)
    assert.equal((await fail(deleteRepo, { uid: repo }, token)).code, 7)
    const deleter = await platform.addIdentityWith(owner.organization, ['CAP_TAG_DELETE'])
    assert.equal((await fail(deleteTag, { uid }, deleter.token)).code, 9)
    assert.equal(
      (await fail(updateRepo, { repo: { uid: repo, immutableTags: ['a'] } }, deleter.token)).code,
      7,
    )
    assert.deepEqual((await succeed(getRepo, { uid: repo })).immutableTags, ['*'])
  },
})

examples('immutable tags of registry clients', {
  async 'can be pushed again, but not moved or deleted'(stage) {
    const client = ociClient(stage.platform.url, stage.owner.token)
    const repo = await makeRepo(stage)
    const image = await client.pushImage(repo, 'v1', 'one')
    assert.equal(await client.pushImage(repo, 'v1', 'one'), image)
    await client.pushBlob(repo, 'two')
    const other = imageOf('two')
    const put = { body: other, headers: { 'content-type': types.manifest } }
    for (const path of ['v1', `${digestOf(other)}?tag=latest&tag=v1`]) {
      const response = await client.expect(412, 'PUT', `/v2/${repo}/manifests/${path}`, put)
      const { errors } = (await response.json()) as { errors: { code: string; message: string }[] }
      assert.equal(errors[0]?.code, 'DENIED')
      assert.match(
        errors[0]?.message ?? '',
        /^tag v1 cannot be moved, .* pattern v\* .* owner of the group can remove/,
      )
    }
    for (const path of ['latest', digestOf(other)])
      assert.equal(await client.errorOf('GET', `/v2/${repo}/manifests/${path}`), '404 MANIFEST_UNKNOWN')
    for (const path of ['v1', image])
      assert.equal(await client.errorOf('DELETE', `/v2/${repo}/manifests/${path}`), '412 DENIED')
    const head = await client.expect(200, 'HEAD', `/v2/${repo}/manifests/v1`)
    assert.equal(head.headers.get('docker-content-digest'), image)
  },

  async 'protect the manifests in their index from deletion'(stage) {
    const client = ociClient(stage.platform.url, stage.owner.token)
    const repo = await makeRepo(stage)
    await client.pushImage(repo, digestOf(imageOf('one')), 'one')
    const index = (child: string) =>
      JSON.stringify({
        ...{ schemaVersion: 2, mediaType: types.index },
        manifests: [descriptor(child, types.manifest)],
      })
    const [inner, outer] = [index(imageOf('one')), index(index(imageOf('one')))]
    await client.pushManifest(repo, digestOf(inner), inner, types.index)
    await client.pushManifest(repo, 'v1', outer, types.index)
    for (const content of [imageOf('one'), inner, outer])
      assert.equal(await client.errorOf('DELETE', `/v2/${repo}/manifests/${digestOf(content)}`), '412 DENIED')
    const free = await client.pushImage(repo, 'latest', 'two')
    await client.expect(202, 'DELETE', `/v2/${repo}/manifests/${free}`)
  },

  async 'are set by exactly one of several pushes at the same time'(stage) {
    const { platform, owner } = stage
    const client = ociClient(platform.url, owner.token)
    const repo = await makeRepo(stage)
    const layers = ['a', 'b', 'c', 'd']
    for (const layer of [...layers, '{}']) await client.pushBlob(repo, layer)
    const responses = await Promise.all(
      layers.map((layer) =>
        client.send('PUT', `/v2/${repo}/manifests/v1`, {
          ...{ body: imageOf(layer), headers: { 'content-type': types.manifest } },
        }),
      ),
    )
    const won = layers.filter((_, at) => responses[at]?.status === 201)
    assert.equal(won.length, 1, responses.map(({ status }) => status).join())
    const history =
      await platform.store.query(sql`select h.digest from tag_history h join tags t on t.uid = h.tag
      where t.parent = ${repo}`)
    assert.deepEqual(history, [[digestOf(imageOf(won[0] ?? ''))]])
  },
})
