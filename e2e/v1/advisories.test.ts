// Lists of advisories through v1.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { countingIds } from '../advisories/advisory-ids.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, violations } from '../contract/examples.ts'

const { create, list, delete: withdraw } = Advisories.method
const { listAdvisories } = AdvisoriesService.method

const required = { artifactName: 'nginx', artifactType: 'apk' }

const newId = countingIds('CGA-xxxx-xxxx')

const makeAdvisory = ({ succeed, owner }: ExampleContext, fields: JsonObject = {}) =>
  succeed(create, { parentId: owner.organization, advisory: { ...required, advisoryId: newId(), ...fields } })

async function idsOf({ succeed, owner }: ExampleContext, filter: JsonObject): Promise<unknown[]> {
  const { items, totalCount } = await succeed(list, { uidp: { childrenOf: owner.organization }, ...filter })
  const ids = (items as JsonObject[]).map(({ id }) => id)
  assert.equal(totalCount, String(ids.length))
  return ids
}

examples('lists of advisories of v1', {
  async 'contain advisories as they were written, without withdrawn ones'(stage) {
    const { succeed, platform } = stage
    const made = await makeAdvisory(stage, {
      aliases: ['CVE-2026-1'],
      events: [{ fixed: { fixedVersion: '1' } }],
    })
    const id = made.id as string
    const one = { items: [made], nextPageToken: '', totalCount: '1' }
    assert.deepEqual(await succeed(list, { id }), { id: '', ...one })
    const none = { id: '', items: [], nextPageToken: '', totalCount: '0' }
    const stranger = await platform.addIdentity('')
    assert.deepEqual(await succeed(list, { id }, stranger.token), none)
    await succeed(withdraw, { id })
    assert.deepEqual(await succeed(list, { id }), none)
  },

  async 'name the group that they are restricted to'({ succeed, owner: { organization } }) {
    for (const uidp of [{ childrenOf: organization }, { descendantsOf: organization }])
      assert.equal((await succeed(list, { uidp })).id, organization)
    assert.equal((await succeed(list, {})).id, '')
  },

  async 'can be filtered by the type of event that reports a moved component'(stage) {
    const moved = {
      componentLocationChanged: { previousLocation: '/usr/lib', newLocation: '/opt/lib', note: '' },
    }
    const fixed = { fixed: { fixedVersion: '1' }, status: 'APPROVED', timestamp: '2026-01-01T00:00:00Z' }
    const { id } = await makeAdvisory(stage, { events: [fixed, { ...moved, status: 'APPROVED' }] })
    await makeAdvisory(stage, { events: [fixed] })
    const type = 'EVENT_TYPE_FILTER_COMPONENT_LOCATION_CHANGED'
    for (const filter of [{ eventTypes: [type] }, { latestEventType: type }])
      assert.deepEqual(await idsOf(stage, filter), [id], JSON.stringify(filter))
  },

  async 'support every filter'(stage) {
    const matching = await makeAdvisory(stage, {
      ...{
        artifactName: 'one',
        artifactType: 'npm',
        artifactArchitecture: 'aarch64',
        legacyAdvisoryID: 'OLD-1',
      },
      ...{
        componentName: 'zlib',
        componentType: 'library',
        componentLocation: '/usr/lib',
        aliases: ['CVE-1'],
      },
      events: [{ fixed: { fixedVersion: '1' }, author: 'ada', reviewer: 'cyd', status: 'APPROVED' }],
    })
    await makeAdvisory(stage, { events: [{ detection: { manual: {} }, author: 'bob', status: 'PENDING' }] })
    const filters: JsonObject[] = [
      { id: matching.id as string },
      { artifactName: ['one', 'none'] },
      { artifactType: ['npm'] },
      { artifactArchitecture: ['aarch64'] },
      { componentName: ['zlib'] },
      { componentType: ['library'] },
      { componentLocation: ['/usr/lib'] },
      { aliases: ['CVE-1'] },
      { eventAuthor: ['ada'] },
      { excludeEventAuthor: ['bob'] },
      { eventReviewer: ['cyd'] },
      { eventStatuses: ['APPROVED'] },
      { eventTypes: ['EVENT_TYPE_FILTER_FIXED'] },
      { latestEventType: 'EVENT_TYPE_FILTER_FIXED' },
      { origin: 'one' },
      { advisoryIds: [matching.advisoryId as string] },
      { legacyAdvisoryIds: ['OLD-1'] },
    ]
    for (const filter of filters)
      assert.deepEqual(await idsOf(stage, filter), [matching.id], JSON.stringify(filter))
    assert.equal((await idsOf(stage, {})).length, 2)
    assert.deepEqual(await idsOf(stage, { artifactName: ['one'], eventAuthor: ['bob'] }), [])
  },

  async 'are paged in order, with page tokens that v2 accepts as well'(stage) {
    const { succeed, owner } = stage
    const ids: unknown[] = []
    for (const _ of [1, 2, 3]) ids.push((await makeAdvisory(stage)).id)
    const reversed = ids.toReversed()
    for (const field of ['ID', 'CREATED_AT', 'UPDATED_AT', 'DELETED_AT']) {
      assert.deepEqual(await idsOf(stage, { orderBy: `${field}_ASC` }), ids, field)
      assert.deepEqual(await idsOf(stage, { orderBy: `${field}_DESC` }), reversed, field)
    }
    const uidp = { childrenOf: owner.organization }
    const page = await succeed(list, { uidp, pageSize: '2', orderBy: 'ID_DESC' })
    assert.deepEqual([(page.items as unknown[]).length, page.totalCount], [2, '3'])
    const pageToken = page.nextPageToken as string
    const next = await succeed(list, { uidp, pageSize: '2', orderBy: 'ID_DESC', pageToken })
    assert.deepEqual(
      (next.items as JsonObject[]).map(({ id }) => id),
      [ids[0]],
    )
    assert.equal(next.nextPageToken, '')
    const nextInV2 = await succeed(listAdvisories, { uidp, pageSize: 2, orderBy: 'uid desc', pageToken })
    assert.deepEqual(
      (nextInV2.advisories as JsonObject[]).map(({ uid }) => uid),
      [ids[0]],
    )
    assert.equal((await idsOf(stage, { pageSize: '9007199254740993' })).length, 3)
  },

  async 'name the fields of v1 in errors'({ fail, door, owner }) {
    const wrong = async (filter: JsonObject) => violations(await fail(list, filter))
    assert.deepEqual(await wrong({ orderBy: 'ALIASES_ASC' }), ['orderBy'])
    assert.deepEqual(await wrong({ pageSize: '-1' }), ['pageSize'])
    assert.deepEqual(await wrong({ id: 'nginx' }), ['id'])
    assert.deepEqual(await wrong({ eventAuthor: Array.from({ length: 101 }, () => 'x') }), ['eventAuthor'])
    // `door.call`, because `fail` would compare the messages of the two doors, which differ here.
    for (const [field, value] of Object.entries({ orderBy: 99, eventStatuses: [77], eventTypes: [99] })) {
      const { error } = await door.call(list, { [field]: value }, owner.token)
      assert.ok(error && violations(error)[0]?.startsWith(field), error?.message)
    }
  },
})
