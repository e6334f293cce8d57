// Garbage collection: which content it deletes, and what happens while pushes or other collections run.
import assert from 'node:assert/strict'
import { rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import pg from 'pg'
import type { BlobStore } from '../../server/blobs/blob-store.ts'
import { parseDigest, placeOf } from '../../server/blobs/digest.ts'
import { contentStorage } from '../../server/content-storage.ts'
import { openLog } from '../../server/log.ts'
import { collectionAccess } from '../../server/policy/system-access.ts'
import { collectionMetrics, openCollector } from '../../server/registry-collection.ts'
import { checkRepoSizes } from '../../server/resources/registry/check-repo-sizes.ts'
import { abortsBeforeEndMs, claimBlobs } from '../../server/resources/registry/collection/claim-blobs.ts'
import { collectGarbage } from '../../server/resources/registry/collection/collect.ts'
import { deleteClaimed } from '../../server/resources/registry/collection/delete-claimed.ts'
import { planCollection } from '../../server/resources/registry/collection/plan.ts'
import { reviewLinks } from '../../server/resources/registry/collection/review-links.ts'
import type { Sql } from '../../server/store/sql.ts'
import { sql } from '../../server/store/sql.ts'
import { all } from '../../server/store/work.ts'
import { newUploadId } from '../../server/testing/blob-drivers.ts'
import type { Door } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { makeBackgroundCounts } from '../../server/workers/background-counts.ts'
import { runStemmadInline } from '../server/stemmad.ts'
import type { OciClient } from './oci-client.ts'
import { descriptor, digestOf, imageOf, indexOf, ociClient, pushParts, types } from './oci-client.ts'
import { ageContent, ageRows, dayMs, storedDigests } from './stored-content.ts'

const nothing = { uploads: 0, links: 0, blobs: 0, bytes: 0, failures: 0 }

onEachStore('a garbage collection', (engine) => {
  let platform: Platform
  let client: OciClient
  let door: Door
  let storage: BlobStore
  before(async () => {
    platform = await startPlatform(engine, ['--registry-gc-interval', '0'])
    client = ociClient(platform.url, platform.owner.token)
    door = restDoor(platform.url)
    // A collection may run in another process, so this one does not use the storage that the server has opened.
    storage = await contentStorage(platform.config).open()
  })
  after(async () => {
    await storage.close()
    await platform.stop()
  })
  // Each test begins without content.
  beforeEach(async () => {
    for (const [uid] of await platform.store.query(sql`select uid from repos`))
      await deleteRepo(uid as string)
    await age()
    await collect({ withUnknownBlobs: true })
    assert.deepEqual(await storedDigests(storage), [])
  })

  const deleteRepo = async (uid: string) =>
    assert.equal(
      (await door.call(ReposService.method.deleteRepo, { uid }, platform.owner.token)).error,
      undefined,
    )
  const age = () => ageContent(platform.store, storage, join(platform.config.dataDir, 'content'))
  const collection = (on: BlobStore) => ({
    ...{ access: collectionAccess, store: platform.store, storage: on, now: Date.now, graceMs: dayMs },
    pause: async () => {},
  })
  const collect = ({ withUnknownBlobs = false, on = storage } = {}) =>
    collectGarbage(collection(on), { withUnknownBlobs })
  const plan = (options = {}) => planCollection(collection(storage), options)
  async function storeBytes(content: string) {
    const upload = await storage.begin(newUploadId())
    const appended = await storage.append(upload, Readable.from([Buffer.from(content)]))
    const digest = parseDigest(digestOf(content))
    if (digest) await storage.finish(appended.upload, digest)
  }
  const untilPushHasBegun = async () => {
    const named = sql`select 1 from uploads where digest is not null`
    while ((await platform.store.query(named)).length === 0) await pause(5)
  }
  const claim = () => platform.store.write(() => claimBlobs(Date.now() - dayMs, Date.now()))
  const settings = () => {
    const { dataDir, secretKey, databaseUrl } = platform.config
    const database = databaseUrl ? ['--database-url', databaseUrl, '--secret-key', secretKey ?? ''] : []
    return ['--data-dir', dataDir, ...database]
  }
  const blobPath = (name: string, content: string) => `/v2/${name}/blobs/${digestOf(content)}`
  const sorted = (contents: string[]) => contents.map((content) => digestOf(content)).sort()

  test('deletes what no manifest and no upload refers to, after the grace period', async () => {
    const image = await client.pushImage('acme/web', 'latest', 'tagged')
    // Manifests without a tag can be pulled by digest, and are kept: an image, an index, and a signature.
    await client.pushImage('acme/web', digestOf(imageOf('untagged')), 'untagged')
    const entries = [{ mediaType: types.manifest, digest: image, size: imageOf('tagged').length }]
    const index = JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests: entries })
    await client.pushManifest('acme/web', digestOf(index), index, types.index)
    const subject = { subject: { ...entries[0], digest: digestOf('deleted long ago') } }
    await client.pushImage('acme/web', digestOf(imageOf('signature', subject)), 'signature', subject)
    // A nondistributable layer, which need not be pushed, but was.
    const foreign = {
      layers: [descriptor('foreign', 'application/vnd.oci.image.layer.nondistributable.v1.tar')],
    }
    await client.pushImage('acme/web', 'foreign', 'foreign', foreign)
    for (const content of ['loose', 'shared']) await client.pushBlob('acme/web', content)
    await client.pushImage('acme/other', 'latest', 'shared')
    await client.expect(202, 'PATCH', await client.begin('acme/web'), { body: 'abandoned' })
    assert.deepEqual(await collect({ withUnknownBlobs: true }), nothing)

    await age()
    const location = await client.begin('acme/web')
    await client.expect(202, 'PATCH', location, { body: 'young' })
    const deleted = { ...nothing, uploads: 1, links: 2, blobs: 1, bytes: 'loose'.length }
    assert.deepEqual(await plan(), deleted)
    assert.deepEqual(await collect({ withUnknownBlobs: true }), deleted)
    const kept = sorted(['{}', 'foreign', 'tagged', 'untagged', 'signature', 'shared'])
    assert.deepEqual(await storedDigests(storage), kept)
    const sizes = await platform.store.query(sql`select
      (select sum(size) from repo_sizes),
      (select sum(b.size) from repo_blobs r join blobs b on b.digest = r.digest) + (select sum(size) from manifests)`)
    assert.equal(sizes[0]?.[0], sizes[0]?.[1])
    await client.expect(404, 'HEAD', blobPath('acme/web', 'loose'))
    await client.expect(404, 'HEAD', blobPath('acme/web', 'shared'))
    await client.expect(200, 'GET', `/v2/acme/web/manifests/${digestOf(index)}`)
    await client.expect(201, 'PUT', `${location}?digest=${digestOf('young')}`)
    assert.deepEqual(await collect({ withUnknownBlobs: true }), nothing)
  })

  test('keeps an optional layer that was pushed after its manifest, if the manifest is pushed again', async () => {
    const foreign = {
      layers: [descriptor('foreign', 'application/vnd.oci.image.layer.nondistributable.v1.tar')],
    }
    const push = () => client.pushManifest('acme/web', 'latest', imageOf('foreign', foreign))
    const sizes = async () =>
      (await platform.store.query(sql`select json from tags`)).map(([json]) => JSON.parse(String(json)).size)
    await client.pushBlob('acme/web', '{}')
    await push()
    const size = imageOf('foreign', foreign).length + '{}'.length
    assert.deepEqual(await sizes(), [String(size)])
    await client.pushBlob('acme/web', 'foreign')
    await push()
    assert.deepEqual(await sizes(), [String(size + 'foreign'.length)])
    await age()
    assert.deepEqual(await collect(), nothing)
    await client.expect(200, 'GET', blobPath('acme/web', 'foreign'))
  })

  test('deletes what its plan predicts, also after interrupted pushes', async () => {
    await storeBytes('received')
    for (const content of ['received', 'not received'])
      await platform.store.write(() =>
        all(sql`insert into blobs (digest, size, create_time, unused_since)
          values (${digestOf(content)}, 0, ${Date.now()}, ${Date.now()})`),
      )
    await client.expect(202, 'PATCH', await client.begin('acme/web'), { body: 'abandoned' })
    await platform.store.write(() => all(sql`update uploads set digest = ${digestOf('received')}`))
    await age()
    const deleted = { ...nothing, uploads: 1, blobs: 1, bytes: 'received'.length }
    assert.deepEqual(await plan(), deleted)
    assert.deepEqual(await collect(), deleted)
  })

  test('deletes the blobs of deleted manifests and repos, but keeps images whose tag was deleted', async () => {
    const kept = await client.pushImage('acme/web', 'kept', 'kept')
    const removed = await client.pushImage('acme/web', 'removed', 'removed')
    await client.pushImage('acme/gone', 'latest', 'gone')
    await age()
    // Referenced content is reviewed once, and only again when it is released.
    assert.deepEqual(await collect(), nothing)
    const count = sql`select count(*) from repo_blobs where unused_since is not null`
    assert.deepEqual(await platform.store.query(count), [[0]])

    await client.expect(202, 'DELETE', `/v2/acme/web/manifests/${removed}`)
    const { token } = platform.owner
    const uidOf = async (statement: Sql) => String((await platform.store.query(statement))[0]?.[0])
    const uid = await uidOf(sql`select uid from tags where name = 'kept'`)
    assert.equal((await door.call(TagsService.method.deleteTag, { uid }, token)).error, undefined)
    await deleteRepo(await uidOf(sql`select uid from repos where name = 'gone'`))
    assert.deepEqual(await collect(), nothing)
    await age()
    const freed = { ...nothing, links: 1, blobs: 2, bytes: 'removedgone'.length }
    assert.deepEqual(await plan(), freed)
    assert.deepEqual(await collect(), freed)
    assert.deepEqual(await storedDigests(storage), sorted(['{}', 'kept']))
    await client.expect(200, 'GET', `/v2/acme/web/manifests/${kept}`)
  })

  test('refuses pushes of a blob that it is deleting, and they succeed afterwards', async () => {
    await client.pushBlob('acme/web', 'again')
    await age()
    const { removed } = await platform.store.write(() => reviewLinks(collectionAccess, Date.now() - dayMs))
    const claimed = await claim()
    assert.deepEqual([removed, claimed.blobs.length], [1, 1])
    const post = `/v2/acme/web/blobs/uploads/?digest=${digestOf('again')}`
    assert.equal(await client.errorOf('POST', post, { body: 'again' }), '503 UNAVAILABLE')
    const location = await client.begin('acme/web')
    await client.expect(202, 'PATCH', location, { body: 'again' })
    const put = `${location}?digest=${digestOf('again')}`
    const refused = await client.expect(503, 'PUT', put)
    assert.equal(refused.headers.get('retry-after'), '5')
    await client.expect(202, 'POST', `/v2/acme/web/blobs/uploads/?mount=${digestOf('again')}`)
    const { blobs } = await deleteClaimed({ store: platform.store, storage, now: Date.now }, claimed)
    assert.equal(blobs, 1)
    // The upload has kept its bytes.
    await client.expect(201, 'PUT', put)
    assert.equal(await (await client.expect(200, 'GET', blobPath('acme/web', 'again'))).text(), 'again')
  })

  test('does not delete a blob while a push of the same digest is running', async () => {
    await client.pushBlob('acme/web', 'begun')
    const location = await client.begin('acme/web')
    const raw = await rawClient(platform.app.port)
    const head = [
      ...[`PUT ${location}?digest=${digestOf('begun')} HTTP/1.1`, 'host: stemma.test', 'content-length: 5'],
      `authorization: Bearer ${platform.owner.token}`,
    ]
    raw.send(`${head.join('\r\n')}\r\n\r\nbeg`)
    await untilPushHasBegun()
    await age()
    await platform.store.write(() => reviewLinks(collectionAccess, Date.now() - dayMs))
    const { reviewed, blobs } = await claim()
    assert.deepEqual([reviewed, blobs], [1, []])
    raw.send('un')
    assert.equal((await raw.response()).status, 201)
    raw.close()
    await collect()
    assert.equal(await (await client.expect(200, 'GET', blobPath('acme/web', 'begun'))).text(), 'begun')
  })

  for (const end of ['is cancelled', 'gets another digest'] as const)
    test(`deletes the bytes of a push whose caller lost the role meanwhile, if the upload then ${end}`, async () => {
      const pusher = await platform.addIdentity(platform.owner.organization, 'registry.push')
      const location = await client.begin('acme/web')
      const raw = await rawClient(platform.app.port)
      const head = [
        `PUT ${location}?digest=${digestOf('revoked')} HTTP/1.1`,
        ...['host: stemma.test', 'content-length: 7', `authorization: Bearer ${pusher.token}`],
      ]
      raw.send(`${head.join('\r\n')}\r\n\r\nrev`)
      await untilPushHasBegun()
      await platform.unbind(pusher.identity)
      raw.send('oked')
      assert.equal((await raw.response()).status, 403)
      raw.close()
      assert.deepEqual(await storedDigests(storage), sorted(['revoked']))
      // The lease expires.
      await platform.store.write(() => all(sql`update uploads set lease_until = 0`))
      if (end === 'is cancelled') await client.expect(204, 'DELETE', location)
      else await client.expect(404, 'PUT', `${location}?digest=${digestOf('another')}`)
      await age()
      assert.partialDeepStrictEqual(await collect(), { blobs: 1, bytes: 'revoked'.length, failures: 0 })
      assert.deepEqual(await storedDigests(storage), [])
    })

  test('that was killed leaves a claim, which a push or another collection ends', async () => {
    for (const content of ['pushed', 'collected', 'published']) await client.pushBlob('acme/web', content)
    await age()
    await platform.store.write(() => reviewLinks(collectionAccess, Date.now() - dayMs))
    const killed = await claim()
    assert.equal(killed.blobs.length, 3)
    assert.deepEqual(await collect({ withUnknownBlobs: true }), nothing)
    await ageRows(platform.store)
    await client.pushImage('acme/web', 'latest', 'pushed')
    // A collection that was slow, and not killed, begins no deletion after its claim has
    // expired, and does not remove the rows of blobs that have been claimed again.
    const late = { ...killed, blobs: killed.blobs.filter(({ digest }) => digest === digestOf('published')) }
    await deleteClaimed({ store: platform.store, storage, now: () => killed.until }, killed)
    await deleteClaimed(
      { store: platform.store, storage, now: Date.now },
      { ...late, until: killed.until - 1 },
    )
    // Nor does it continue a deletion for which the storage takes too long.
    const slow: BlobStore = {
      ...storage,
      async delete(digest, signal) {
        await new Promise((resolve) => signal?.addEventListener('abort', resolve))
        await storage.delete(digest, signal)
      },
    }
    const now = () => killed.until - abortsBeforeEndMs - 10
    const { blobs, failures } = await deleteClaimed({ store: platform.store, storage: slow, now }, late)
    assert.deepEqual([blobs, failures.length], [0, 1])
    const deleted = { ...nothing, blobs: 2, bytes: 'collectedpublished'.length }
    assert.deepEqual(await collect({ withUnknownBlobs: true }), deleted)
    assert.deepEqual(await storedDigests(storage), sorted(['{}', 'pushed']))
  })

  test('deletes each blob once if another one runs at the same time', async () => {
    const contents = Array.from({ length: 60 }, (_, at) => `loose ${at}`)
    for (const content of contents) await client.pushBlob('acme/web', content)
    await age()
    const totals = await Promise.all([
      collect({ withUnknownBlobs: true }),
      collect({ withUnknownBlobs: true }),
    ])
    const sum = (name: 'links' | 'blobs') => totals.reduce((total, each) => total + each[name], 0)
    assert.deepEqual([sum('links'), sum('blobs')], [60, 60])
    assert.deepEqual(await storedDigests(storage), [])
  })

  test('deletes bytes without a row only if it is asked to, and they are older than the grace period', async () => {
    await storeBytes('old bytes')
    await storage.begin(newUploadId())
    assert.deepEqual(await collect({ withUnknownBlobs: true }), nothing)
    await age()
    await storeBytes('new bytes')
    assert.deepEqual(await plan({ withUnknownBlobs: true }), {
      ...nothing,
      uploads: 1,
      blobs: 1,
      bytes: 'old bytes'.length,
    })
    assert.deepEqual(await collect(), { ...nothing, uploads: 1 })
    assert.deepEqual(await collect({ withUnknownBlobs: true }), {
      ...nothing,
      blobs: 1,
      bytes: 'old bytes'.length,
    })
    assert.deepEqual(await storedDigests(storage), sorted(['new bytes']))
  })

  test('goes on if the storage cannot delete a blob, and tries again a grace period later', async () => {
    for (const content of ['stuck', 'free']) await client.pushBlob('acme/web', content)
    await age()
    const failing: BlobStore = {
      ...storage,
      delete: async (digest) => {
        if (digest === digestOf('stuck')) throw new Error('no')
        await storage.delete(digest)
      },
    }
    const deleted = { ...nothing, links: 2, blobs: 1, bytes: 'free'.length, failures: 1 }
    assert.deepEqual(await collect({ on: failing }), deleted)
    assert.deepEqual(await collect({ on: failing }), nothing)
    await age()
    assert.deepEqual(await collect(), { ...nothing, blobs: 1, bytes: 'stuck'.length })
  })

  test('hides a blob without a manifest from clients an hour before it deletes the blob', async () => {
    for (const content of ['{}', 'unused']) await client.pushBlob('acme/web', content)
    const setAge = (minutes: number) =>
      platform.store.write(function* () {
        yield sql`update repo_blobs set unused_since = ${Date.now() - minutes * 60_000}`
      })
    await setAge(22 * 60)
    await client.expect(200, 'HEAD', blobPath('acme/web', 'unused'))
    await setAge(23 * 60 + 1)
    await client.expect(404, 'HEAD', blobPath('acme/web', 'unused'))
    for (const source of ['', '&from=acme/web'])
      await client.expect(202, 'POST', `/v2/acme/other/blobs/uploads/?mount=${digestOf('unused')}${source}`)
    assert.deepEqual(await collect(), nothing)
    // A client that asked earlier can still push its manifest.
    await client.pushManifest('acme/web', 'latest', imageOf('unused'))
    await client.expect(200, 'HEAD', blobPath('acme/web', 'unused'))
  })

  test('runs on a schedule, on one copy of the server at a time, and is counted in /metrics', async () => {
    await client.pushImage('acme/web', 'latest', 'used')
    await client.pushBlob('acme/web', 'scheduled')
    await age()
    let time = Date.now()
    const counts = makeBackgroundCounts()
    const copy = () =>
      openCollector({
        ...{
          store: platform.store,
          content: contentStorage(platform.config),
          log: openLog('silent'),
          counts,
        },
        ...{
          config: { garbageCollection: { intervalMs: 3_600_000, graceMs: dayMs } },
          now: () => time,
          clock: () => 0,
        },
      })
    const copies = [copy(), copy()]
    const runAll = async () => {
      const ran = await Promise.all(copies.map((each) => each.runIfDue()))
      return ran.filter((hasRun) => hasRun).length
    }
    assert.deepEqual([await runAll(), await runAll()], [1, 0])
    time += 3_600_000
    assert.equal(await runAll(), 1)
    for (const each of copies) await each.stop()
    const values = Object.fromEntries(
      collectionMetrics(counts).map(({ name, value }) => [name.slice(19), value]),
    )
    assert.deepEqual(values, {
      ...{ runs_total: 2, errors_total: 0, deleted_blobs_total: 1, freed_bytes_total: 9 },
      ...{ deleted_uploads_total: 0, seconds_total: 0, last_success_timestamp_seconds: time / 1000 },
    })
    const metrics = await (await fetch(`${platform.url}/metrics`)).text()
    assert.match(metrics, /^# TYPE stemma_registry_gc_runs_total counter\nstemma_registry_gc_runs_total 0$/m)
  })

  test('that is interrupted is no success, and is due again at once', async () => {
    await client.pushImage('acme/web', 'latest', 'used')
    await client.pushBlob('acme/web', 'interrupted')
    await age()
    const [counts, time] = [makeBackgroundCounts(), Date.now() + 24 * 3_600_000]
    const stopping: BlobStore = {
      ...storage,
      delete: async (digest) => {
        void collector.stop()
        await storage.delete(digest)
      },
    }
    const open = (on: BlobStore) =>
      openCollector({
        ...{ store: platform.store, content: { open: async () => on, close: async () => {} }, counts },
        ...{ config: { garbageCollection: { intervalMs: 3_600_000, graceMs: 3 * dayMs } }, clock: () => 0 },
        ...{ now: () => time, log: openLog('silent') },
      })
    const collector = open(stopping)
    assert.equal(await collector.runIfDue(), true)
    const values = Object.fromEntries(
      collectionMetrics(counts).map(({ name, value }) => [name.slice(19), value]),
    )
    assert.partialDeepStrictEqual(values, { deleted_blobs_total: 1, last_success_timestamp_seconds: 0 })
    const next = open(storage)
    assert.deepEqual([await next.runIfDue(), await next.runIfDue()], [true, false])
    await next.stop()
  })

  test('is a command, which with --dry-run only prints what it would delete', async () => {
    for (const content of ['loose', 'x'.repeat(1536)]) await client.pushBlob('acme/web', content)
    await age()
    const result = '2 blobs (1.5 KiB) and 0 unfinished uploads'
    const plan = await runStemmadInline(['gc', '--dry-run', ...settings()])
    const planned = `Would delete ${result}, and would unlink 2 unused blobs from repos.\n`
    assert.deepEqual(plan, { code: 0, stdout: planned, stderr: '' })
    const done = await runStemmadInline(['gc', ...settings()])
    const deleted = `Deleted ${result}, and unlinked 2 unused blobs from repos.\n`
    assert.deepEqual(done, { code: 0, stdout: deleted, stderr: '' })
    assert.deepEqual(await storedDigests(storage), [])
  })

  test('does not find lost content; stemmad check names it, and the repos that have it', async () => {
    await client.pushImage('acme/web', 'latest', 'lost')
    for (const content of ['shortened', 'damaged', 'intact'])
      await client.pushImage('acme/web', content, content)
    await client.pushBlob('acme/web', 'collected')
    await client.expect(202, 'DELETE', blobPath('acme/web', 'collected'))
    const check = (...flags: string[]) => runStemmadInline(['check', ...flags, ...settings()])
    const totals = 'All totals are correct.\n'
    const size = '5 blobs of the registry (28 bytes)'
    const fine = `${totals}${size}: none is missing`
    assert.deepEqual(await check(), { code: 0, stdout: `${fine}.\n`, stderr: '' })
    assert.equal((await check('--digests')).stdout, `${fine}, and all have the right content.\n`)

    const path = (content: string) => {
      const digest = parseDigest(digestOf(content))
      return join(platform.config.dataDir, 'content/blobs', digest ? placeOf(digest) : '')
    }
    await rm(path('lost'))
    assert.equal(await client.errorOf('GET', blobPath('acme/web', 'lost')), '404 BLOB_UNKNOWN')
    await truncate(path('shortened'), 5)
    await writeFile(path('damaged'), 'changed')
    const uid = await platform.store.query(sql`select uid from repos`)
    const repos = `. Repos: web (${uid[0]?.[0]})\n`
    const lines = [
      `blob ${digestOf('lost')} is missing${repos}`,
      `blob ${digestOf('shortened')} has 5 bytes in place of 9${repos}`,
    ]
    const found = await check('--repair')
    const missing = lines.sort().join('')
    assert.ok(
      found.stdout.startsWith(`${totals}${missing}${size}: 2 cannot be used. Copy these blobs`),
      found.stdout,
    )
    assert.equal(found.code, 1)
    lines.push(
      `blob ${digestOf('damaged')} has other content, with the digest ${digestOf('changed')}${repos}`,
    )
    const { stdout } = await check('--digests')
    assert.ok(stdout.startsWith(`${totals}${lines.sort().join('')}${size}: 3 cannot be used.`), stdout)
    // As the output says: a blob that is deleted and pushed again has its content back.
    const lost = digestOf(imageOf('lost'))
    await client.expect(202, 'DELETE', `/v2/acme/web/manifests/${lost}`)
    await client.expect(202, 'DELETE', blobPath('acme/web', 'lost'))
    await client.pushImage('acme/web', 'latest', 'lost')
    assert.equal(await (await client.expect(200, 'GET', blobPath('acme/web', 'lost'))).text(), 'lost')
  })

  test('does not correct sizes; stemmad check --repair does, and adds missing platforms of images', async () => {
    const config = '{"os":"linux","architecture":"arm64"}'
    const image = await pushParts(client, 'acme/web', 'latest', { config, layers: ['sized'] })
    // In an index of indexes, each level gets its platforms from the next. In the order of digests, one of these
    // indexes comes before the index that it contains.
    let index = image
    for (const type of [types.manifest, types.index, types.index, types.index]) {
      index = indexOf([{ manifest: index, type }])
      await client.pushManifest('acme/web', 'index', index, types.index)
    }
    const wasm = { config: descriptor(config, 'application/vnd.wasm.config.v0+json') }
    await pushParts(client, 'acme/web', 'wasm', { config, layers: ['sized'], fields: wasm })
    const execute = (...statements: Sql[]) =>
      platform.store.write(function* () {
        for (const statement of statements) yield statement
      })
    const [before] = await platform.store.query(sql`select repo, sum(size) from repo_sizes group by repo`)
    const [repo, size] = before as [string, number]
    await execute(
      sql`update manifests set platforms = ''`,
      sql`update repo_sizes set size = size + 7, manifests = manifests - 1 where repo = ${repo}
        and stripe = (select min(stripe) from repo_sizes where repo = ${repo})`,
    )
    const line = `the repo ${repo}: the stored size is ${Number(size) + 7} bytes and 5 manifests, the correct size is ${size} bytes and 6 manifests\n`
    const check = (...flags: string[]) => runStemmadInline(['check', ...flags, ...settings()])
    const found = await check()
    const advice = '1 total was wrong; stemmad check --repair corrects wrong totals.\n'
    assert.ok(found.code === 1 && found.stdout.startsWith(`${line}${advice}`), found.stdout)
    const repaired = await check('--repair')
    const done = `${line}1 total was wrong and has been corrected.\nThe platforms of 5 manifests were missing and have been added.\n`
    assert.ok(repaired.code === 0 && repaired.stdout.startsWith(done), repaired.stdout)
    assert.ok((await check('--repair')).stdout.startsWith('All totals are correct.\n2 blobs'))
    const rows = await platform.store.query(sql`select platforms from manifests where repo = ${repo}
      order by platforms`)
    assert.deepEqual(rows.flat(), ['', ...Array(5).fill('linux/arm64')])
  })

  test('does not cause wrong sizes if a repair of sizes runs at the same time', {
    skip: engine === 'sqlite',
  }, async (t) => {
    for (const content of ['kept', 'removed']) await client.pushBlob('acme/web', content)
    const [row] = await platform.store.query(sql`select uid from repos`)
    const repo = row?.[0] as string
    await platform.store.write(() => all(sql`update repo_sizes set size = size + 7 where repo = ${repo}`))
    const other = new pg.Client(platform.config.databaseUrl)
    t.after(() => other.end())
    await other.connect()
    // Like a collection that has removed a blob and is about to commit.
    await other.query(`begin; delete from repo_blobs where digest = '${digestOf('removed')}'`)
    await other.query('update repo_sizes set size = size - 7')
    const repair = checkRepoSizes(platform.store, collectionAccess)
    const isWaiting = sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    while ((await platform.store.query(isWaiting)).length === 0) await pause(5)
    await other.query('commit')
    await repair
    assert.deepEqual(await checkRepoSizes(platform.store, undefined), [])
  })

  test('skips a blob while another collection reviews it', { skip: engine === 'sqlite' }, async (t) => {
    await client.pushBlob('acme/web', 'both')
    await age()
    const other = new pg.Client(platform.config.databaseUrl)
    t.after(() => other.end())
    await other.connect()
    const blob = `where digest = '${digestOf('both')}'`
    await other.query(`begin; select 1 from blobs ${blob} for update`)
    const review = () => platform.store.write(() => reviewLinks(collectionAccess, Date.now() - dayMs))
    assert.deepEqual(await review(), { reviewed: 0, removed: 0 })
    // The other collection sees the link of the repo, so it marks the blob as used.
    await other.query(`update blobs set unused_since = null ${blob}; commit`)
    assert.deepEqual(await collect(), { ...nothing, links: 1, blobs: 1, bytes: 'both'.length })
  })

  test('and a push of a manifest exclude each other', { skip: engine === 'sqlite' }, async (t) => {
    for (const content of ['{}', 'raced']) await client.pushBlob('acme/web', content)
    await ageRows(platform.store)
    const other = new pg.Client(platform.config.databaseUrl)
    t.after(() => other.end())
    await other.connect()
    const link = `repo_blobs where digest = '${digestOf('raced')}'`
    // A manifest that is being stored has locked the link.
    await other.query(`begin; select 1 from ${link} for key share`)
    assert.deepEqual(await platform.store.write(() => reviewLinks(collectionAccess, Date.now() - dayMs)), {
      reviewed: 1,
      removed: 1,
    })
    await other.query('rollback')
    await client.pushBlob('acme/web', '{}')
    // A collection that is removing the link has locked it.
    await other.query(`begin; select 1 from ${link} for update`)
    const put = client.errorOf('PUT', '/v2/acme/web/manifests/latest', {
      ...{ body: imageOf('raced'), headers: { 'content-type': types.manifest } },
    })
    // In a transaction, PostgreSQL reads the list of activities only once, unless it is told to forget it.
    const waits = `select 1 from pg_stat_clear_snapshot(), pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    while ((await other.query(waits)).rowCount === 0) await pause(5)
    await other.query(`delete from ${link}; commit`)
    assert.equal(await put, '404 MANIFEST_BLOB_UNKNOWN')
  })
})
