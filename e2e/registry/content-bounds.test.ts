// Calls about images read a bounded amount, even if somebody pushes manifests that are as expensive
// to read as possible.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf'
import { create, fromBinary } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import {
  DeleteManifestRequestSchema,
  GetBlobRequestSchema,
  GetManifestRequestSchema,
  ListReferrersRequestSchema,
  PutManifestRequestSchema,
} from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ManifestMetadataFilterSchema, Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagSchema, TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import type { BlobStore } from '../../server/blobs/blob-store.ts'
import { BoundedMap } from '../../server/bounded-map.ts'
import { contentStorage } from '../../server/content-storage.ts'
import { parseGrants } from '../../server/policy/grants.ts'
import type { Dependencies } from '../../server/resources/dependencies.ts'
import { blobMethods } from '../../server/resources/registry/content/blob-methods.ts'
import { findSboms } from '../../server/resources/registry/content/images/image-content.ts'
import { manifestMethods } from '../../server/resources/registry/content/manifest-methods.ts'
import { putManifest } from '../../server/resources/registry/content/put-manifest.ts'
import { referrersReply } from '../../server/resources/registry/content/referrers.ts'
import { requireNoImmutableTagOf } from '../../server/resources/registry/immutable-tags.ts'
import { tags } from '../../server/resources/registry/tags/table.ts'
import type { Call } from '../../server/rpc/call.ts'
import { demandOf } from '../../server/rpc/demand.ts'
import type { Store } from '../../server/store/db.ts'
import { snapshotStatement } from '../../server/store/snapshot.ts'
import type { Sql } from '../../server/store/sql.ts'
import { raw, sql } from '../../server/store/sql.ts'
import { contentOf } from '../../server/store/statement/statement.ts'
import { recordStatements } from '../../server/store/test-stores.ts'
import { all } from '../../server/store/work.ts'
import { createMany } from '../../server/testing/create-many.ts'
import { restDoor } from '../../server/testing/doors.ts'
import { testEnvelope } from '../../server/testing/envelope.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { countingReads } from './counting-reads.ts'
import { digest, insertManifests, insertReferences, numbers } from './inserted-manifests.ts'
import { descriptor, digestOf, imageOf, indexOf, ociClient, pushParts, types } from './oci-client.ts'

onEachStore('calls about images', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await sharedPlatform(engine)
  })
  after(() => platform.stop())

  const demandFor = (repoId: string) => {
    const request = create(ManifestMetadataFilterSchema, { repoId })
    const caller = { identity: platform.owner.identity, issuedAt: Math.ceil(Date.now() / 1000) }
    const options = {
      parseGrants,
      now: Date.now,
      random: randomBytes,
      defaultLimits: new Map<string, number>(),
    }
    return demandOf(
      describeMethod(Registry.method.listManifestMetadata),
      request,
      caller,
      testEnvelope,
      options,
    )
  }

  test('parse little in one turn of the event loop, and each index once, however often a request names it', async () => {
    const client = ociClient(platform.url, platform.owner.token)
    const config = '{"os":"linux","architecture":"amd64"}'
    const image = await pushParts(client, 'acme/meta', 'latest', { config, layers: ['a'] })
    const plain = indexOf([{ manifest: image, platform: { os: 'linux', architecture: 'amd64' } }])
    const padded = (name: string, length: number) => `${plain.slice(0, -1)},"x":"${name.padEnd(length)}"}`
    const indexes = ['a', 'b', 'c'].map((name) => padded(name, 900_000))
    const tooLarge = padded('d', 2 ** 20)
    for (const index of [...indexes, tooLarge])
      await client.pushManifest('acme/meta', digestOf(index), index, types.index)
    // Manifests that describe the image, of 60 KB each.
    for (let at = 0; at < 12; at++) {
      const fields = { subject: descriptor(image, types.manifest), x: String(at).padEnd(60_000) }
      const manifest = imageOf('a', { config: descriptor(config, types.config), ...fields })
      await client.pushManifest('acme/meta', digestOf(manifest), manifest)
    }
    const [row] = await platform.store.query(sql`select uid from repos where name = 'meta'`)
    const repoId = row?.[0] as string
    const named = indexes.flatMap((index) => Array.from({ length: 6 }, () => digestOf(index)))
    const query = named.map((digest) => `digests=${digest}`).join('&')
    const response = await client.expect(200, 'GET', `/registry/v1/repos/${repoId}/manifestmetdata?${query}`)
    const { items } = (await response.json()) as { items: { digest: string }[] }
    assert.deepEqual(
      items.map(({ digest }) => digest),
      [digestOf(image)],
    )

    const { store, counted, stop } = countingReads(platform.store)
    const deps = { store } as Dependencies // finding needs nothing else
    const find = (digests: readonly string[]) =>
      findSboms(deps, demandFor(repoId), () => digests.map((digest) => ({ digest, architecture: '' })))
    assert.equal((await find(named)).length, 1)
    assert.equal(counted.reads, 1 + indexes.length)
    assert.equal(counted.turns.size, counted.reads)
    await assert.rejects(find([digestOf(tooLarge)]), /at most 1048576 bytes of indexes are read/)
    stop()
    assert.ok(counted.mostBytes > 900_000 && counted.mostBytes <= 2 * 2 ** 20, String(counted.mostBytes))
  })

  test('parse the configuration of images once, however often and in whichever manifest it is pushed', async () => {
    const client = ociClient(platform.url, platform.owner.token)
    const config = '{"os":"linux","architecture":"arm64"}'
    const image = await pushParts(client, 'acme/again', 'latest', { config, layers: ['c'] })
    const [row] = await platform.store.query(sql`select uid from repos where name = 'again'`)
    const repo = row?.[0] as string
    const storage = await contentStorage(platform.config).open()
    let reads = 0
    const read: BlobStore['read'] = (...blob) => {
      reads++
      return storage.read(...blob)
    }
    const deps = {
      ...{ store: platform.store, now: Date.now, random: randomBytes, knownPlatforms: new BoundedMap(10) },
      content: { open: async () => ({ ...storage, read }) },
    } as unknown as Parameters<typeof putManifest>[0] // a push needs nothing else
    const demand = { ...demandFor(repo), capabilities: [Capability.CAP_MANIFEST_CREATE] }
    for (const manifest of [image, image, `${image} `, `${image}  `]) {
      const [digest, content] = [digestOf(manifest), Buffer.from(manifest)]
      const request = create(PutManifestRequestSchema, { repo, digest, content, mediaType: types.manifest })
      const deadline = Date.now() + 60_000
      await putManifest(deps, { demand, request, deadline } as unknown as Call<typeof request>)
    }
    await storage.close()
    assert.equal(reads, 1)
    const rows = await platform.store.query(sql`select platforms from manifests where repo = ${repo}`)
    assert.deepEqual(rows.flat(), ['linux/arm64', 'linux/arm64', 'linux/arm64'])
  })

  test('find referrers of one type by a database index, however many others the manifest has', async () => {
    await ociClient(platform.url, platform.owner.token).pushBlob('acme/described', 'layer')
    const [row] = await platform.store.query(sql`select uid from repos where name = 'described'`)
    const repo = row?.[0] as string
    const subject = digest('a', 0)
    await platform.store.write(function* () {
      yield insertManifests(
        repo,
        numbers(2000).map((at): [string, string] => [digest('b', at), subject]),
      )
    })
    const isSqlite = engine === 'sqlite'
    const planOf = async (statement: Sql) => {
      const explain = raw(isSqlite ? 'explain query plan' : 'explain (costs off)')
      const rows = await platform.store.query(sql`${explain} ${statement}`)
      return rows.map((step) => String(step.at(-1))).join('\n')
    }
    const statementsFor = async (artifactType: string) => {
      const statements: Sql[] = []
      const request = create(ListReferrersRequestSchema, { repo, subject, artifactType })
      await platform.store.read(() => recordStatements(referrersReply(request), statements))
      return statements
    }
    for (const hasStatistics of [false, true]) {
      if (hasStatistics) await platform.store.write(() => all(raw('analyze manifests')))
      const [search, ...others] = (await statementsFor('none')) as [Sql]
      assert.match(await planOf(search), isSqlite ? /artifact_type=\?/ : /Index Cond: .*artifact_type =/)
      assert.deepEqual(others, [])
      const [, read] = (await statementsFor('x')) as [Sql, Sql]
      assert.match(await planOf(read), isSqlite ? /digest=\?/ : /Index Cond: .*digest = ANY/)
    }
  })

  test('refresh up to 1000 tags when an image is pushed, and others when they are updated or pushed', async () => {
    const client = ociClient(platform.url, platform.owner.token)
    const config = '{"os":"linux","architecture":"amd64"}'
    const manifest = imageOf('a', { config: descriptor(config, types.config) })
    for (const blob of [config, 'a']) await client.pushBlob('acme/refreshed', blob)
    const [row] = await platform.store.query(sql`select uid from repos where name = 'refreshed'`)
    const repo = row?.[0] as string
    const now = Date.now()
    const rows = numbers(1002).map((at) => {
      const uid = `${repo}/${at.toString(16).padStart(16, '0')}`
      const tag = create(TagSchema, { name: `t${at}`, digest: digestOf(manifest) })
      return [tag, { uid, now, columns: { push_time: now } }] as const
    })
    await platform.store.write(() => createMany(tags, rows))
    await client.pushManifest('acme/refreshed', digestOf(manifest), manifest)
    const staleTags = async () => {
      const stored = await platform.store.query(
        sql`select proto from tags where parent = ${repo} order by uid`,
      )
      assert.equal(stored.length, rows.length)
      return stored
        .map(([proto]) => fromBinary(TagSchema, proto as Uint8Array))
        .filter(({ platforms }) => platforms.join() !== 'linux/amd64')
        .map(({ uid, name }) => ({ uid, name }))
    }
    const [first, second, ...others] = await staleTags()
    assert.ok(first && second && others.length === 0)
    const tag = { uid: first.uid, name: first.name }
    const door = restDoor(platform.url)
    const { error } = await door.call(TagsService.method.updateTag, { tag }, platform.owner.token)
    assert.equal(error, undefined)
    assert.deepEqual(await staleTags(), [second])
    await client.pushManifest('acme/refreshed', second.name, manifest)
    assert.deepEqual(await staleTags(), [])
  })

  /** A repo with immutable tags `z*`, and a manifest with this many tags, of which the last one in order is immutable. */
  async function makeTagged(name: string, count: number): Promise<{ repo: string; image: string }> {
    const client = ociClient(platform.url, platform.owner.token)
    const image = await client.pushImage(`acme/${name}`, 'z', name)
    const [row] = await platform.store.query(sql`select uid from repos where name = ${name}`)
    const repo = row?.[0] as string
    await client.expect(200, 'PATCH', `/registry/v2beta1/repos/${repo}`, {
      body: JSON.stringify({ immutableTags: ['z*'] }),
      headers: { 'content-type': 'application/json' },
    })
    await platform.store.write(() =>
      all(sql`insert into tags (uid, parent, root, name, digest, sort, create_time, update_time, proto, json, shape)
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count - 1})
        select parent || '/' || substr(cast(10000000000000000 + n as text), 2), parent, root, 'tag-' || n, digest, sort,
          create_time, update_time, proto, json, shape from tags, numbers where parent = ${repo}`),
    )
    return { repo, image }
  }

  test('look for immutable tags among a limited number of tags and indexes', async () => {
    const { repo, image } = await makeTagged('tagged', 10_002)
    const contained = digest('c', 0)
    await platform.store.write(function* () {
      const indexes = numbers(10_002).map((at) => digest('d', at))
      yield insertManifests(
        repo,
        [contained, ...indexes].map((own): [string, null] => [own, null]),
      )
      yield insertReferences(
        repo,
        indexes.map((index) => [index, contained]),
      )
    })
    const client = ociClient(platform.url, platform.owner.token)
    for (const [deleted, parts] of [
      [image, 'tags'],
      [contained, 'indexes'],
    ] as const) {
      const { store, counted, stop } = countingReads(platform.store)
      stop() // the turns of the event loop are not looked at
      const check = async () => store.read(() => requireNoImmutableTagOf(repo, deleted, ['z*']))
      await assert.rejects(check, new RegExp(`more than 10000 ${parts}, .* delete the ${parts} first`))
      assert.ok(counted.rows <= 10_002, String(counted.rows))
      assert.equal(await client.errorOf('DELETE', `/v2/${repo}/manifests/${deleted}`), '412 DENIED')
    }
  })

  test('look for immutable tags once, however many transactions delete a manifest', async () => {
    const { repo, image } = await makeTagged('mutable', 250)
    await platform.store.write(() =>
      all(sql`update tags set name = 'a' where parent = ${repo} and name = 'z'`),
    )
    const statements: Sql[] = []
    let transactions = 0
    const write: Store['write'] = (work, deadline) => {
      transactions++
      return platform.store.write(() => recordStatements(work(), statements), deadline)
    }
    const deps = { store: { ...platform.store, write }, now: Date.now } as unknown as Dependencies // deletion needs nothing else
    const demand = { ...demandFor(repo), capabilities: [Capability.CAP_MANIFEST_DELETE] }
    const request = create(DeleteManifestRequestSchema, { repo, digest: image })
    const deadline = Date.now() + 60_000
    await manifestMethods(deps).deleteManifest({ demand, request, deadline } as unknown as Call<
      typeof request
    >)
    assert.equal(transactions, 3)
    // The search for immutable tags starts with a statement that names its table `containing`; no other one does.
    const texts = statements.map((statement) => contentOf(statement).template)
    assert.equal(texts.filter((text) => JSON.stringify(text).includes('containing')).length, 1)
    const left = await platform.store.query(sql`select name from tags where parent = ${repo}`)
    assert.deepEqual(left, [])
  })

  test('read the grants of the caller and the content in one statement', async () => {
    const client = ociClient(platform.url, platform.owner.token)
    const config = '{"os":"linux","architecture":"amd64"}'
    const image = await pushParts(client, 'acme/pulled', 'latest', { config, layers: ['b'] })
    const [row] = await platform.store.query(sql`select uid from repos where name = 'pulled'`)
    const repo = row?.[0] as string
    const executed: Sql[] = []
    const query: Store['query'] = (statement) => {
      executed.push(statement)
      return platform.store.query(statement)
    }
    const read: Store['read'] = (work) => {
      assert.equal(engine, 'sqlite', 'PostgreSQL needs no transaction')
      return platform.store.read(() => recordStatements(work(), executed))
    }
    const { now } = Date
    const deps = {
      ...{ store: { ...platform.store, query, read }, now, recordPull: () => {} },
      settings: { contentGraceMs: 86_400_000 },
    } as unknown as Dependencies // pulling needs nothing else
    const demand = { ...demandFor(repo), capabilities: [Capability.CAP_MANIFEST_LIST] }
    const callOf = <D extends DescMessage>(desc: D, fields: MessageInitShape<D>) =>
      ({ demand, request: create(desc, fields) }) as unknown as Call<never> // handlers of pulls read nothing else
    for (const reference of ['latest', digestOf(image)])
      for (const withoutContent of [true, false])
        await manifestMethods(deps).getManifest(
          callOf(GetManifestRequestSchema, { repo, reference, withoutContent }),
        )
    await blobMethods(deps).getBlob(callOf(GetBlobRequestSchema, { repo, digest: digestOf('b') }))
    const statements = executed.filter((statement) => statement !== snapshotStatement)
    assert.equal(statements.length, 5)
    if (engine !== 'sqlite') return
    for (const statement of statements) {
      const plan = await platform.store.query(sql`explain query plan ${statement}`)
      // `g` is the list of groups in which grants are read. It is part of the statement, not a table.
      const scans = plan
        .map((step) => String(step[3]))
        .filter((step) => /^SCAN (?!CONSTANT|g\b)|MATERIALIZE/.test(step))
      assert.deepEqual(scans, [])
    }
  })
})
