// Pushes, CreateTag and UpdateTag calls that change the same tags at the same time.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { create, toBinary } from '@bufbuild/protobuf'
import { Content, PutManifestRequestSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { TagSchema, TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { BoundedMap } from '../../server/bounded-map.ts'
import { parseGrants } from '../../server/policy/grants.ts'
import type { Dependencies } from '../../server/resources/dependencies.ts'
import { putManifest } from '../../server/resources/registry/content/put-manifest.ts'
import type { Call } from '../../server/rpc/call.ts'
import { demandOf } from '../../server/rpc/demand.ts'
import type { Store } from '../../server/store/db.ts'
import { raw, sql } from '../../server/store/sql.ts'
import { all } from '../../server/store/work.ts'
import { restDoor } from '../../server/testing/doors.ts'
import { testEnvelope } from '../../server/testing/envelope.ts'
import { untilAnotherWaits, untilAnotherWaitsOr } from '../../server/testing/lock-waits.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { numbers } from './inserted-manifests.ts'
import { descriptor, digestOf, imageOf, ociClient, types } from './oci-client.ts'

/** An artifact, not an image: a push does not read a platform from its configuration. */
const artifact = (layer: string) => imageOf(layer, { config: descriptor('{}', 'application/x') })

onEachStore('concurrent changes of tags', (engine) => {
  let platform: Platform
  let repo = ''
  before(async () => {
    platform = await sharedPlatform(engine)
    const client = ociClient(platform.url, platform.owner.token)
    for (const blob of ['{}', 'a', 'b', 'c']) await client.pushBlob('acme/races', blob)
    const [row] = await platform.store.query(sql`select uid from repos where name = 'races'`)
    repo = row?.[0] as string
  })
  after(() => platform.stop())

  /** Pushes in this process. `onRun` is called whenever the transaction runs. */
  const push = (layer: string, tags: string[], onRun: () => void) => {
    const content = Buffer.from(artifact(layer))
    const request = create(PutManifestRequestSchema, {
      ...{ repo, digest: digestOf(content), content, mediaType: types.manifest, tags },
    })
    const caller = { identity: platform.owner.identity, issuedAt: Math.ceil(Date.now() / 1000) }
    const options = {
      parseGrants,
      now: Date.now,
      random: randomBytes,
      defaultLimits: new Map<string, number>(),
    }
    const demand = demandOf(
      describeMethod(Content.method.putManifest),
      request,
      caller,
      testEnvelope,
      options,
    )
    const write: Store['write'] = (work, deadline) =>
      platform.store.write(() => {
        onRun()
        return work()
      }, deadline)
    const store = { ...platform.store, write } as Store
    const deps = { store, now: Date.now, random: randomBytes } as unknown as Dependencies // a push needs nothing else
    return putManifest({ ...deps, knownPlatforms: new BoundedMap(1) }, {
      request,
      demand,
      deadline: Date.now() + 60_000,
    } as unknown as Call<typeof request>)
  }

  test('pushes move the same tags between images without a deadlock, in whatever order they name them', async () => {
    const tags = ['x', 'y', 'z']
    for (const layer of ['a', 'b', 'c']) await push(layer, tags, () => {})
    let runs = 0
    const pushes = numbers(24).map((at) => {
      const ordered = at % 2 === 0 ? tags : tags.toReversed()
      return push('abc'[at % 3] ?? '', ordered.slice(0, 1 + (at % 3)), () => runs++)
    })
    await Promise.all(pushes)
    // A SQLite batch in which a write fails runs again, but none fails here.
    assert.equal(runs, pushes.length, 'no transaction was repeated')
    const digests = (await platform.store.query(sql`select digest from tags where parent = ${repo}`)).flat()
    assert.equal(digests.length, 3)
  })

  test('pushes that create the same tag all succeed', async () => {
    const client = ociClient(platform.url, platform.owner.token)
    for (const round of numbers(3)) {
      const layers = ['a', 'b', 'c', 'a', 'b', 'c']
      await Promise.all(
        layers.map((layer) => client.pushManifest('acme/races', `new-${round}`, artifact(layer))),
      )
      const [row] = await platform.store.query(sql`select count(*) from tags where name = ${`new-${round}`}`)
      assert.deepEqual(row, [1])
    }
  })

  test('CreateTag creates a new tag if the existing one is renamed at the same time, and keeps the renamed one', {
    skip: engine === 'sqlite' && 'SQLite runs one write after another',
  }, async () => {
    const { call } = restDoor(platform.url)
    const createTag = (layer: string) =>
      call(
        TagsService.method.createTag,
        { parent: repo, tag: { name: 'latest', digest: digestOf(artifact(layer)) } },
        platform.owner.token,
      )
    const { body } = await createTag('a')
    const { uid, digest } = body as { uid: string; digest: string }
    const renamedTag = toBinary(TagSchema, create(TagSchema, { uid, digest, name: 'v1' }))
    const locked = Promise.withResolvers<void>()
    const renamed = platform.store.write(function* () {
      yield sql`update tags set name = 'v1', proto = ${renamedTag} where uid = ${uid}`
      locked.resolve()
      yield raw(untilAnotherWaits)
    })
    await locked.promise
    const created = createTag('b')
    await renamed
    assert.equal((await created).error, undefined)
    const rows = await platform.store.query(
      sql`select name, digest from tags where parent = ${repo} and name in ('latest', 'v1') order by name`,
    )
    assert.deepEqual(rows, [
      ['latest', digestOf(artifact('b'))],
      ['v1', digestOf(artifact('a'))],
    ])
  })

  test('CreateTag calls for the same tag at the same time all succeed', async () => {
    const { call } = restDoor(platform.url)
    for (const round of numbers(3)) {
      const creates = ['a', 'b', 'c', 'a', 'b', 'c'].map((layer) =>
        call(
          TagsService.method.createTag,
          { parent: repo, tag: { name: `api-${round}`, digest: digestOf(artifact(layer)) } },
          platform.owner.token,
        ),
      )
      for (const { error } of await Promise.all(creates)) assert.equal(error, undefined)
    }
  })

  for (const method of [TagsService.method.createTag, TagsService.method.updateTag])
    test(`${method.name} moves a tag only when the repo is not locked to delete its manifests`, {
      skip: engine === 'sqlite' && 'SQLite runs one write after another',
    }, async () => {
      const { call } = restDoor(platform.url)
      const [name, digest] = [`moved-by-${method.name}`, digestOf(artifact('b'))]
      const tag = { name, digest: digestOf(artifact('a')) }
      const { body } = await call(TagsService.method.createTag, { parent: repo, tag }, platform.owner.token)
      const uid = body?.uid as string
      const locked = Promise.withResolvers<void>()
      // Deletions of manifests and tags lock the repo in the same way.
      const deletion = platform.store.write(function* () {
        yield sql`select uid from repos where uid = ${repo} /*pg for update */`
        locked.resolve()
        yield raw(
          untilAnotherWaitsOr(`exists (select from tags where name = '${name}' and digest = '${digest}')`),
        )
        return yield* all(sql`select digest from tags where uid = ${uid}`)
      })
      await locked.promise
      const request =
        method.name === 'CreateTag' ? { parent: repo, tag: { name, digest } } : { tag: { uid, digest } }
      const moved = call(method, request, platform.owner.token)
      assert.deepEqual(await deletion, [[tag.digest]], 'the tag has not moved')
      assert.equal((await moved).body?.digest, digest)
    })
})
