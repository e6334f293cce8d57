// Reading advisories. writes.test.ts tests writing them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  AdvisoriesService,
  AdvisorySchema,
  ReviewState,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createAdvisory, withdrawAdvisory } from '../../server/resources/vulnerabilities/advisories/write.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples } from '../contract/examples.ts'

const { getAdvisory, listAdvisories } = AdvisoriesService.method
const { createGroup, deleteGroup } = GroupsService.method

type Draft = Partial<MessageInitShape<typeof AdvisorySchema>>

const dayMs = 24 * 60 * 60_000
const context = { access: operatorAccess, now: Date.now, random: randomBytes }

const detection = (author: string, time: number, reviewState: ReviewState = ReviewState.APPROVED) => ({
  ...{ author, reviewState, createTime: timestampFromMs(time) },
  type: { case: 'detection', value: { type: { case: 'manual', value: {} } } } as const,
})

const fixed = (author: string, time: number, reviewState: ReviewState = ReviewState.APPROVED) => ({
  ...{ author, reviewState, createTime: timestampFromMs(time) },
  type: { case: 'fixed', value: { fixedVersion: '1.2.3-r0' } } as const,
})

/** Writes an advisory directly into the store. */
function write(
  { platform, owner }: ExampleContext,
  draft: Draft,
  group = owner.organization,
): Promise<string> {
  const base = { author: 'ada', artifactName: 'nginx', artifactType: 'apk' }
  const advisory = create(AdvisorySchema, { ...base, ...draft } as MessageInitShape<typeof AdvisorySchema>)
  return platform.store.write(() => createAdvisory(context, group, advisory))
}

const namesIn = (list: JsonObject) =>
  (list.advisories as { artifactName: string }[]).map(({ artifactName }) => artifactName)

examples('advisories', {
  async 'an advisory shows its fields, and its events in order of time'(stage) {
    const uid = await write(stage, {
      artifactArchitecture: 'x86_64',
      componentName: 'libpcre',
      aliases: ['CVE-2026-1234'],
      events: [fixed('bob', 2 * dayMs), detection('ada', dayMs)],
      severities: [{ type: 2, score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }],
    })
    const advisory = await stage.succeed(getAdvisory, { uid })
    assert.match(String(advisory.advisoryId), /^CGA(?:-[23456789cfghjmpqrvwx]{4}){3}$/)
    assert.deepEqual(
      (advisory.events as { author: string }[]).map(({ author }) => author),
      ['ada', 'bob'],
    )
    const [first] = advisory.events as { uid: string; createTime: string; reviewState: string }[]
    assert.equal(first?.uid.slice(0, -17), uid)
    assert.equal(first?.createTime, '1970-01-02T00:00:00.000Z')
    assert.equal(first?.reviewState, 'REVIEW_STATE_APPROVED')
    assert.deepEqual(advisory.severities, [
      { type: 'TYPE_CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' },
    ])
    assert.ok(!('deleteTime' in advisory) && !('legacyAdvisoryId' in advisory))
  },

  async 'lists support every filter, and combinations of filters'(stage) {
    const { succeed } = stage
    await write(stage, { artifactName: 'one', aliases: ['CVE-2026-1'], events: [detection('ada', dayMs)] })
    await write(stage, {
      ...{ artifactName: 'two', artifactType: 'npm', componentName: 'zlib', componentType: 'library' },
      ...{ componentLocation: '/usr/lib', artifactArchitecture: 'aarch64', aliases: ['GHSA-aaaa-bbbb-cccc'] },
      events: [detection('ada', dayMs), { ...fixed('bob', 2 * dayMs), reviewer: 'cyd' }],
    })
    await write(stage, {
      artifactName: 'three',
      events: [fixed('ada', 2 * dayMs, ReviewState.PENDING), detection('dan', dayMs)],
    })
    const { advisories: all } = await succeed(listAdvisories, { orderBy: 'artifact_name' })
    const idOf = (name: string) =>
      (all as { artifactName: string; advisoryId: string }[]).find(
        ({ artifactName }) => artifactName === name,
      )?.advisoryId ?? ''
    for (const [filter, expected] of [
      [{}, ['one', 'three', 'two']],
      [{ advisoryIds: [idOf('one'), 'CGA-2222-2222-2222'] }, ['one']],
      [{ artifactNames: ['one', 'two', 'four'] }, ['one', 'two']],
      [{ artifactTypes: ['npm'] }, ['two']],
      [{ artifactArchitectures: ['aarch64'] }, ['two']],
      [{ componentNames: ['zlib'] }, ['two']],
      [{ componentTypes: ['library'] }, ['two']],
      [{ componentLocations: ['/usr/lib'] }, ['two']],
      [{ aliases: ['CVE-2026-1', 'GHSA-aaaa-bbbb-cccc'] }, ['one', 'two']],
      [{ origin: 'two', artifactNames: ['one'] }, ['two']],
      [{ eventReviewStates: ['REVIEW_STATE_PENDING'] }, ['three']],
      [{ eventAuthors: ['dan', 'bob'] }, ['three', 'two']],
      [{ excludeEventAuthors: ['dan'] }, ['one', 'two']],
      [{ eventReviewers: ['cyd'] }, ['two']],
      [{ eventTypes: ['EVENT_TYPE_FILTER_FIXED'] }, ['three', 'two']],
      [{ eventTypes: ['EVENT_TYPE_FILTER_UNSPECIFIED'] }, ['one', 'three', 'two']],
      [{ latestEventType: 'EVENT_TYPE_FILTER_DETECTION' }, ['one', 'three']],
      [{ latestEventType: 'EVENT_TYPE_FILTER_FIXED' }, ['two']],
      [{ query: 'ghsa-AAAA' }, ['two']],
      [{ query: 'LIB' }, ['two']],
      [{ query: 'e' }, ['one', 'three']],
      [{ query: 'cve', artifactTypes: ['apk'] }, ['one']],
      [{ artifactTypes: ['apk'], eventTypes: ['EVENT_TYPE_FILTER_FIXED'] }, ['three']],
      [{ aliases: ['CVE-2026-1'], artifactTypes: ['npm'] }, []],
    ] as [JsonObject, string[]][]) {
      const list = await succeed(listAdvisories, { orderBy: 'artifact_name', ...filter })
      assert.deepEqual(namesIn(list), expected, JSON.stringify(filter))
      assert.equal(list.totalCount, String(expected.length))
    }
  },

  async 'lists can be ordered by artifact or id, and a page token is valid only with the same filters'(
    stage,
  ) {
    const { succeed } = stage
    for (const artifactName of ['b', 'c', 'a', 'd', 'e'])
      await write(stage, { artifactName, aliases: ['CVE-2026-7'] })
    const request = { orderBy: 'artifact_name desc', pageSize: 2, aliases: ['CVE-2026-7'] }
    const page = await succeed(listAdvisories, request)
    assert.deepEqual([namesIn(page), page.totalCount], [['e', 'd'], '5'])
    const next = await succeed(listAdvisories, { ...request, pageToken: page.nextPageToken as string })
    assert.deepEqual(namesIn(next), ['c', 'b'])
    // `succeed` would compare the responses of both doors. These differ, because the order depends on random ids.
    const byId = await stage.door.call(listAdvisories, { orderBy: 'advisory_id' }, stage.owner.token)
    const advisories = byId.body?.advisories as { advisoryId: string }[]
    assert.deepEqual(
      advisories,
      advisories.toSorted((a, b) => (a.advisoryId < b.advisoryId ? -1 : 1)),
    )
    assert.equal(
      (await stage.fail(listAdvisories, { ...request, query: 'x', pageToken: page.nextPageToken as string }))
        .code,
      3,
    )
    assert.equal((await stage.fail(listAdvisories, { orderBy: 'severity' })).code, 3)
  },

  async 'no filter finds advisories of another organization'(stage) {
    const { succeed, fail, platform } = stage
    const uid = await write(stage, { artifactName: 'secret-thing', aliases: ['CVE-2026-42'] })
    const { advisoryId } = await succeed(getAdvisory, { uid })
    const other = await platform.addOrganization('other')
    for (const filter of [
      {},
      { advisoryIds: [advisoryId as string] },
      { artifactNames: ['secret-thing'] },
      { aliases: ['CVE-2026-42'] },
      { query: 'secret' },
      { query: 's' },
      { uidp: { ids: [uid] } },
      { excludeEventAuthors: ['nobody'] },
    ] as JsonObject[]) {
      const list = await succeed(listAdvisories, filter, other.token)
      assert.deepEqual([list.advisories, list.totalCount], [[], '0'], JSON.stringify(filter))
    }
    assert.equal((await fail(getAdvisory, { uid }, other.token)).code, 7)
  },

  async 'a viewer of a group sees only its advisories, and a group with advisories cannot be deleted'(stage) {
    const { succeed, owner, platform } = stage
    const team = (await succeed(createGroup, { parent: owner.organization, group: { name: 'team' } }))
      .uid as string
    await write(stage, { artifactName: 'above', aliases: ['CVE-2026-5'] })
    await write(stage, { artifactName: 'below', aliases: ['CVE-2026-5'] }, team)
    const viewer = await platform.addIdentity(owner.organization, 'viewer', team)
    for (const filter of [{}, { aliases: ['CVE-2026-5'] }, { query: 'cve-2026' }])
      assert.deepEqual(namesIn(await succeed(listAdvisories, filter, viewer.token)), ['below'])
    const error = await stage.fail(deleteGroup, { uid: team })
    assert.match(JSON.stringify(detail(error, 'PreconditionFailure')), /advisories/)
  },

  async 'a withdrawn advisory can be read by uid and is in no list'(stage) {
    const { succeed, fail, platform } = stage
    const uid = await write(stage, { aliases: ['CVE-2026-9'] })
    const before = await succeed(getAdvisory, { uid })
    await platform.store.write(() => withdrawAdvisory(context, uid))
    const advisory = await succeed(getAdvisory, { uid })
    assert.deepEqual(
      { ...advisory, deleteTime: '', updateTime: '' },
      { ...before, deleteTime: '', updateTime: '' },
    )
    assert.equal(advisory.deleteTime, advisory.updateTime)
    for (const filter of [{}, { aliases: ['CVE-2026-9'] }, { query: 'nginx' }, { uidp: { ids: [uid] } }])
      assert.equal((await succeed(listAdvisories, filter)).totalCount, '0')
    assert.equal((await fail(getAdvisory, { uid: `${stage.owner.organization}/${'0'.repeat(16)}` })).code, 5)
  },
})
