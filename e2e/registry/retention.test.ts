// Retention: which tags and manifests are deleted, which are kept, and what happens to those that change meanwhile.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import type { Log } from '../../server/log.ts'
import { retentionAccess } from '../../server/policy/system-access.ts'
import { applyRetention } from '../../server/resources/registry/repos/apply-retention.ts'
import { applyDueRetention } from '../../server/resources/registry/repos/due-retention.ts'
import { retentionMetrics, scheduleRetention } from '../../server/retention-schedule.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import type { Store } from '../../server/store/db.ts'
import type { Sql } from '../../server/store/sql.ts'
import { sql } from '../../server/store/sql.ts'
import { makeBackgroundCounts } from '../../server/workers/background-counts.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, violations } from '../contract/examples.ts'
import type { OciClient } from './oci-client.ts'
import { descriptor, digestOf, imageOf, ociClient, types } from './oci-client.ts'

const { createRepo, updateRepo, deleteRepo, previewRetention } = ReposService.method
const { createTag, updateTag } = TagsService.method

const hourMs = 3_600_000
const digest = (character: string) => `sha256:${character.repeat(64)}`

const makeRepo = async ({ succeed, owner }: ExampleContext, fields: JsonObject, name = 'web') =>
  (await succeed(createRepo, { parent: owner.organization, repo: { name, ...fields } })).uid as string

const execute = (store: Store, statement: Sql) =>
  store.write(function* () {
    yield statement
  })

/** Creates tags that were pushed one hour after the other, the last one now. */
async function makeTags({ succeed, platform }: ExampleContext, parent: string, names: string[]) {
  const uids: string[] = []
  for (const [at, name] of names.entries()) {
    const { uid } = await succeed(createTag, { parent, tag: { name, digest: digest('a') } })
    const pushTime = Date.now() - (names.length - 1 - at) * hourMs
    await execute(platform.store, sql`update tags set push_time = ${pushTime} where uid = ${uid as string}`)
    uids.push(uid as string)
  }
  return uids
}

const tagsOf = async (store: Store, repo: string) =>
  (await store.query(sql`select name from tags where parent = ${repo} order by name`)).flat()

const manifestsOf = async (store: Store, repo: string) =>
  (await store.query(sql`select digest from manifests where repo = ${repo}`)).flat()

const apply = (store: Store, repo: string, afterMs = 0) =>
  applyRetention({ store, access: retentionAccess, now: () => Date.now() + afterMs }, repo)

/** The decisions as lines such as `delete v1: no rule keeps it`. */
const linesOf = ({ decisions }: JsonObject) =>
  (decisions as Record<string, string>[]).map(
    ({ action, tag, digest: image, reason }) =>
      `${action?.replace('RETENTION_ACTION_', '').toLowerCase()} ${tag ?? image}: ${reason}`,
  )

examples('retention of tags', {
  async 'keeps tags by number, push time, pattern and immutability, and deletes the others'(stage) {
    const { succeed, platform } = stage
    const retention = {
      rules: [
        { tags: ['v*'] },
        { tags: ['nightly-*'], keepMostRecent: 2 },
        { tags: ['pr-*', 'nightly-*'], keepPushedWithin: '9000s' },
      ],
    }
    const repo = await makeRepo(stage, { immutableTags: ['final'] })
    await makeTags(stage, repo, [
      'v1',
      'final',
      'pr-1',
      'nightly-1',
      'nightly-2',
      'pr-2',
      'other',
      'nightly-3',
    ])
    const proposed = await succeed(previewRetention, { uid: repo, retention })
    assert.deepEqual(linesOf(proposed), [
      'delete other: no rule keeps it',
      'delete nightly-1: no rule keeps it',
      'delete pr-1: no rule keeps it',
      'keep nightly-3: rule 2: number 1 of the 2 most recent',
      'keep pr-2: rule 3: pushed in the last 9000 seconds',
      'keep nightly-2: rule 2: number 2 of the 2 most recent',
      'keep final: immutable by final',
      'keep v1: rule 1: matches v*',
    ])
    const { deletedTags, keptTags, deletedManifests } = proposed
    assert.deepEqual([deletedTags, keptTags, deletedManifests], [3, 5, 0])
    const none = { tags: 0, manifests: 0 }
    assert.deepEqual(await apply(platform.store, repo), none, 'a preview does not store its rules')
    await succeed(updateRepo, { repo: { uid: repo, retention } })
    assert.deepEqual(linesOf(await succeed(previewRetention, { uid: repo })), linesOf(proposed))
    assert.deepEqual(await apply(platform.store, repo), { tags: 3, manifests: 0 })
    assert.deepEqual(await tagsOf(platform.store, repo), ['final', 'nightly-2', 'nightly-3', 'pr-2', 'v1'])
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
    assert.deepEqual(await apply(platform.store, repo), none)
  },

  async 'keeps tags that were moved, pushed again, renamed or made immutable after they were judged'(stage) {
    const { succeed, platform } = stage
    const { store } = platform
    const repo = await makeRepo(stage, { retention: { rules: [{ tags: ['keep'] }] } })
    const [moved, , renamed] = await makeTags(stage, repo, ['moved', 'again', 'renamed', 'gone', 'frozen'])
    let isFirst = true
    const meanwhile = async () => {
      await succeed(updateTag, { tag: { uid: moved as string, digest: digest('b') } })
      await succeed(createTag, { parent: repo, tag: { name: 'again', digest: digest('a') } })
      await succeed(updateTag, { tag: { uid: renamed as string, name: 'newname' } })
      await succeed(updateRepo, { repo: { uid: repo, immutableTags: ['frozen'] } })
    }
    const write: Store['write'] = async (work, deadline) => {
      if (isFirst) await meanwhile()
      isFirst = false
      return store.write(work, deadline)
    }
    const intercepted = { ...store, read: store.read.bind(store), write }
    assert.deepEqual(await apply(intercepted, repo), { tags: 1, manifests: 0 })
    assert.deepEqual(await tagsOf(store, repo), ['again', 'frozen', 'moved', 'newname'])
  },

  async 'stops when its rules change'(stage) {
    const { succeed, platform } = stage
    const { store } = platform
    const repo = await makeRepo(stage, { retention: { rules: [{ tags: ['keep'] }] } })
    await makeTags(stage, repo, ['one', 'two'])
    const write: Store['write'] = async (work, deadline) => {
      await succeed(updateRepo, { repo: { uid: repo, retention: { rules: [{ tags: ['*'] }] } } })
      return store.write(work, deadline)
    }
    const deletions = await apply({ ...store, read: store.read.bind(store), write }, repo)
    assert.deepEqual(deletions, { tags: 0, manifests: 0 })
    assert.deepEqual(await tagsOf(store, repo), ['one', 'two'])
  },

  async 'keeps a tag of referrers (sha256-….sig) as long as the manifest that it is named after'(stage) {
    const { platform } = stage
    const client = ociClient(platform.url, stage.owner.token)
    const repo = await makeRepo(stage, { retention: { rules: [{ keepMostRecent: 1 }] } })
    const image = await client.pushImage(repo, 'latest', 'layer')
    const signature = `${image.replace(':', '-')}.sig`
    await makeTags(stage, repo, [signature, `sha256-${'0'.repeat(64)}.sig`])
    await execute(
      platform.store,
      sql`update tags set push_time = push_time + ${hourMs} where name = 'latest'`,
    )
    assert.deepEqual(await apply(platform.store, repo), { tags: 1, manifests: 0 })
    assert.deepEqual(await tagsOf(platform.store, repo), ['latest', signature])
  },

  async 'keeps a tag of referrers whose name contains the first 64 digits of a sha512 digest'(stage) {
    const { platform, succeed } = stage
    const repo = await makeRepo(stage, { retention: { rules: [{ tags: ['latest'] }] } })
    const digest = `sha512:${'ab'.repeat(64)}`
    await succeed(createTag, { parent: repo, tag: { name: 'latest', digest } })
    const referrers = `sha512-${'ab'.repeat(32)}`
    await makeTags(stage, repo, [referrers, `sha512-${'0'.repeat(64)}`])
    assert.deepEqual(await apply(platform.store, repo), { tags: 1, manifests: 0 })
    assert.deepEqual(await tagsOf(platform.store, repo), ['latest', referrers])
  },

  async 'is bounded work in each transaction, however many tags there are'(stage) {
    const { platform } = stage
    const { store } = platform
    const repo = await makeRepo(stage, {
      retention: { rules: [{ tags: ['*a*a*a*a*a*b'], keepMostRecent: 1 }] },
    })
    await makeTags(stage, repo, ['first'])
    await execute(
      store,
      sql`insert into tags (uid, parent, root, name, digest, sort, create_time, update_time, proto,
        json, shape, push_time)
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1200)
      select t.uid || '-' || n, parent, root, 'tag-' || n, digest, sort, create_time, update_time, proto, json,
        shape, n from tags t, numbers where t.parent = ${repo}`,
    )
    const sizes: number[] = []
    const onDeleted = (_: string, { tags = [] }: { tags?: string[] }) => sizes.push(tags.length)
    await applyRetention({ store, access: retentionAccess, now: Date.now, onDeleted }, repo)
    assert.ok(
      sizes.every((size) => size <= 100),
      sizes.join(),
    )
    assert.equal(
      sizes.reduce((sum, size) => sum + size),
      1201,
    )
    assert.deepEqual(await tagsOf(store, repo), [])
    await execute(store, sql`update tally set children = 0, subtree = 0 where kind = 'tags'`)
  },

  async 'can be previewed by readers only, and a preview reports wrong rules'(stage) {
    const { fail, succeed, platform, owner } = stage
    const repo = await makeRepo(stage, {})
    const { token } = await platform.addIdentity(owner.organization, 'registry.pull')
    await succeed(previewRetention, { uid: repo }, token)
    const stranger = await platform.addOrganization('other')
    for (const uid of [repo, `${owner.organization}/0123456789abcdef`])
      assert.equal((await fail(previewRetention, { uid }, stranger.token)).code, 7)
    assert.equal((await fail(previewRetention, { uid: `${owner.organization}/0123456789abcdef` })).code, 5)
    const wrong = await fail(previewRetention, { uid: repo, retention: { rules: [{ tags: ['v*', 'ä'] }] } })
    assert.deepEqual(violations(wrong), ['retention.rules[0].tags[1]'])
  },
})

const index = (...children: string[]) =>
  JSON.stringify({
    ...{ schemaVersion: 2, mediaType: types.index },
    manifests: children.map((child) => descriptor(child, types.manifest)),
  })

/** An artifact that refers to a manifest. */
const referrerOf = (subject: string, artifactType: string) =>
  JSON.stringify({
    ...{ schemaVersion: 2, mediaType: types.manifest, artifactType, config: descriptor('{}', types.config) },
    ...{ layers: [], subject: descriptor(subject, types.manifest) },
  })

async function pushAll(client: OciClient, repo: string, contents: string[]) {
  for (const content of contents)
    await client.pushManifest(
      repo,
      digestOf(content),
      content,
      content.includes(types.index) ? types.index : types.manifest,
    )
}

examples('retention of manifests', {
  async 'deletes manifests that have no tag, are in no kept index and refer to no kept manifest'(stage) {
    const { succeed, platform } = stage
    const { store } = platform
    const client = ociClient(platform.url, stage.owner.token)
    const retention = { deleteUntaggedAfter: '7200s' }
    const repo = await makeRepo(stage, { retention })
    for (const blob of ['{}', 'used', 'free', 'shared', 'alone']) await client.pushBlob(repo, blob)
    const [used, free, shared, alone] = [
      imageOf('used'),
      imageOf('free'),
      imageOf('shared'),
      imageOf('alone'),
    ]
    const [tagged, untagged] = [index(used, shared), index(free, shared)]
    const signature = referrerOf(tagged, 'a/sig')
    const signatureOfSignature = referrerOf(signature, 'a/sig')
    const lost = referrerOf(untagged, 'a/sig')
    const signatureOfLost = referrerOf(lost, 'a/sig')
    await pushAll(client, repo, [used, free, shared, alone, tagged, untagged])
    await pushAll(client, repo, [signature, signatureOfSignature, lost, signatureOfLost])
    await client.pushManifest(repo, 'latest', tagged, types.index)
    const doomed = [alone, untagged, free, lost, signatureOfLost].map((content) => digestOf(content))
    assert.deepEqual(await apply(store, repo, hourMs), { tags: 0, manifests: 0 }, 'too young')
    await execute(
      store,
      sql`update manifests set untagged_since = untagged_since - ${3 * hourMs}
      where repo = ${repo} and digest <> ${digestOf(lost)}`,
    )
    const preview = await succeed(previewRetention, { uid: repo })
    const previewed = (preview.decisions as { digest: string; action: string }[]).filter(
      ({ action }) => action === 'RETENTION_ACTION_DELETE',
    )
    assert.deepEqual(previewed.map((decision) => decision.digest).sort(), [...doomed].sort())
    assert.equal(preview.deletedManifests, doomed.length)
    assert.deepEqual(await apply(store, repo), { tags: 0, manifests: doomed.length })
    const kept = [used, shared, tagged, signature, signatureOfSignature].map((content) => digestOf(content))
    assert.deepEqual((await manifestsOf(store, repo)).sort(), kept.sort())
    await client.expect(200, 'GET', `/v2/${repo}/manifests/latest`)
  },

  async 'keeps a new referrer if an index contains it when its subject is deleted, and previews that'(stage) {
    const { succeed, platform } = stage
    const { store } = platform
    const client = ociClient(platform.url, stage.owner.token)
    const repo = await makeRepo(stage, { retention: { deleteUntaggedAfter: '3600s' } })
    for (const blob of ['{}', 'first', 'second']) await client.pushBlob(repo, blob)
    const expected: string[] = []
    for (const name of ['first', 'second']) {
      const subject = imageOf(name)
      const referrer = referrerOf(subject, 'a/sig')
      const list = index(referrer)
      await pushAll(client, repo, [subject, referrer, list])
      const [older, newer] = name === 'first' ? [subject, list] : [list, subject]
      for (const [at, content] of [older, newer].entries())
        await execute(
          store,
          sql`update manifests set untagged_since = ${at + 1} where repo = ${repo} and digest = ${digestOf(content)}`,
        )
      // A referrer is deleted with its subject, unless it is in an index at that time.
      expected.push(digestOf(subject), digestOf(list), ...(name === 'first' ? [] : [digestOf(referrer)]))
    }
    const preview = await succeed(previewRetention, { uid: repo })
    const previewed = (preview.decisions as { digest: string }[]).map((decision) => decision.digest)
    assert.deepEqual(previewed.sort(), expected.sort())
    assert.deepEqual(await apply(store, repo), { tags: 0, manifests: expected.length })
    assert.deepEqual(await manifestsOf(store, repo), [digestOf(referrerOf(imageOf('first'), 'a/sig'))])
  },

  async 'restarts the period when a manifest is pushed or loses a tag, so it can be tagged again'(stage) {
    const { platform } = stage
    const { store } = platform
    const client = ociClient(platform.url, stage.owner.token)
    const repo = await makeRepo(stage, { retention: { deleteUntaggedAfter: '3600s' } })
    const images = [
      await client.pushImage(repo, 'moved', 'a'),
      await client.pushImage(repo, 'deleted', 'b'),
      await client.pushImage(repo, digestOf(imageOf('c')), 'c'),
    ]
    const age = () => execute(store, sql`update manifests set untagged_since = 1 where repo = ${repo}`)
    await age()
    await client.pushImage(repo, 'moved', 'd')
    await client.expect(202, 'DELETE', `/v2/${repo}/manifests/deleted`)
    await client.pushManifest(repo, images[2] ?? '', imageOf('c'))
    assert.deepEqual(await apply(store, repo), { tags: 0, manifests: 0 })
    await age()
    assert.deepEqual(await apply(store, repo), { tags: 0, manifests: 3 })
    assert.deepEqual(await manifestsOf(store, repo), [digestOf(imageOf('d'))])
  },

  async 'deletes a manifest with more referrers than fit into a transaction'(stage) {
    const { platform } = stage
    const { store } = platform
    const client = ociClient(platform.url, stage.owner.token)
    const repo = await makeRepo(stage, { retention: { deleteUntaggedAfter: '3600s' } })
    await client.pushImage(repo, digestOf(imageOf('a')), 'a')
    const referrers = Array.from({ length: 45 }, (_, at) => referrerOf(imageOf('a'), `a/${at}`))
    await pushAll(client, repo, referrers)
    const sizes: number[] = []
    const onDeleted = (_: string, { manifests = [] }: { manifests?: string[] }) =>
      sizes.push(manifests.length)
    const now = () => Date.now() + 2 * hourMs
    await applyRetention({ store, access: retentionAccess, now, onDeleted }, repo)
    assert.deepEqual(sizes, [20, 20, 6])
    assert.deepEqual(await manifestsOf(store, repo), [])
  },
})

// The schedule applies the rules of all repos of a server, so the suite has its own clock, and thus its own platform.
examples(
  'the schedule of retention',
  {
    async 'applies new rules an hour later, then once per interval, in only one of several copies'(stage) {
      const { succeed, platform } = stage
      const { store } = platform
      const repo = await makeRepo(stage, { retention: { rules: [{ tags: ['keep'] }] } })
      await makeRepo(stage, {}, 'without-rules')
      const run = async (afterMs: number) => {
        const now = () => Date.now() + afterMs
        const deps = { store, access: retentionAccess, now }
        const copy = () => applyDueRetention(deps, 24 * hourMs, assert.ifError)
        const results = await Promise.all([copy(), copy()])
        return [results[0].repos + results[1].repos, results[0].tags + results[1].tags]
      }
      await makeTags(stage, repo, ['one'])
      assert.deepEqual(await run(0), [0, 0])
      assert.deepEqual(await run(2 * hourMs), [1, 1])
      await makeTags(stage, repo, ['two'])
      assert.deepEqual(await run(20 * hourMs), [0, 0])
      assert.deepEqual(await run(27 * hourMs), [1, 1])
      await succeed(updateRepo, { repo: { uid: repo }, updateMask: 'retention' })
      await makeTags(stage, repo, ['three'])
      assert.deepEqual(await run(100 * hourMs), [0, 0])
      await succeed(deleteRepo, { uid: repo })
    },

    async 'reports what it has deleted in the log and the metrics'(stage) {
      const { platform } = stage
      const repo = await makeRepo(stage, { retention: { rules: [{ tags: ['keep'] }] } })
      await makeTags(stage, repo, ['old', 'older', 'keep'])
      const logged: object[] = []
      const log = { info: (fields: object) => logged.push(fields) } as unknown as Log // the schedule logs nothing else here
      const counts = makeBackgroundCounts()
      const now = () => Date.now() + 2 * hourMs
      const config = { retentionIntervalMs: hourMs }
      const schedule = scheduleRetention({ config, store: platform.store, log, now, counts })
      await Promise.all([schedule.run(), schedule.run()])
      await schedule.stop()
      const others = logged.filter((fields) => !('repo' in fields && fields.repo === repo))
      assert.deepEqual(logged, [...others, { repo, tags: ['older', 'old'], manifests: [] }])
      const values = retentionMetrics(counts).map(({ name, value }) => [
        name.replace(/.*retention_/, ''),
        value,
      ])
      assert.ok(Object.fromEntries(values).deleted_tags_total >= 2)
      assert.equal(Object.fromEntries(values).errors_total, 0)
      await schedule.run()
      assert.deepEqual(await tagsOf(platform.store, repo), ['keep'])
    },
  },
  () => Date.now(),
)
