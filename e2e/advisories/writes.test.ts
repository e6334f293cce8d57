// Writing advisories with v1 and reading them with v2.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, violations } from '../contract/examples.ts'
import { countingIds } from './advisory-ids.ts'

const { create, update, delete: withdraw } = Advisories.method
const { createAdvisoryEvent, listAdvisoryEvents, updateAdvisoryEvent } = Advisories.method
const { getAdvisory, listAdvisories } = AdvisoriesService.method
const { createGroup } = GroupsService.method
const { createRoleBinding } = RoleBindingsService.method

const newId = countingIds('CGA-cccc-cccc')
const required = { artifactName: 'static', artifactType: 'apk' }

const makeAdvisory = (
  { succeed, owner }: ExampleContext,
  otherFields: JsonObject = {},
  parentId = owner.organization,
) => succeed(create, { parentId, advisory: { ...required, advisoryId: newId(), ...otherFields } })

/** Creates an advisory and returns its uid. */
const makeUid = async (stage: ExampleContext, otherFields?: JsonObject) =>
  (await makeAdvisory(stage, otherFields)).id as string

const eventsOf = (advisory: JsonObject) => advisory.events as JsonObject[]

async function uidsOf({ succeed }: ExampleContext, filter: JsonObject): Promise<unknown[]> {
  const { advisories, totalCount } = await succeed(listAdvisories, filter)
  const uids = (advisories as JsonObject[]).map(({ uid }) => uid)
  assert.equal(totalCount, String(uids.length))
  return uids
}

const assertTally = async ({ platform }: ExampleContext) =>
  assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])

/** Events of each type, each in the spelling of v1 and of v2. */
const eventSpellings: [JsonObject, JsonObject][] = [
  ...[
    { detection: { nvdapi: { cpeSearched: 'cpe:a', cpeFound: 'cpe:b' } } },
    { detection: { manual: {} } },
    {
      fixed: {
        fixedVersion: '1.2-r3',
        note: 'n',
        scannerVersion: '1',
        grypeDbBuilt: '2',
        grypeDbChecksum: '3',
      },
    },
    { truePositiveDetermination: { note: 'affected' } },
    { analysisNotPlanned: { note: 'old' } },
    { fixNotPlanned: { note: 'end of life' } },
    { pendingUpstreamFix: { note: 'reported' } },
    { patched: { patchedVersions: ['1.2-r4', '1.2-r5'], note: 'backported' } },
    { componentLocationChanged: { previousLocation: '/lib/a', newLocation: '/lib/b', note: 'moved' } },
  ].map((type): [JsonObject, JsonObject] => [type, type]),
  [
    { falsePositiveDetermination: { type: 'VULNERABLE_CODE_VERSION_NOT_USED', note: 'older' } },
    { falsePositiveDetermination: { type: 'TYPE_VULNERABLE_CODE_VERSION_NOT_USED', note: 'older' } },
  ],
  ...[
    {
      scanner: 'grype',
      componentId: 'c',
      componentVersion: '1',
      componentType: 'go',
      componentLocation: '/bin/x',
    },
    { artifactVersion: '2', scannerVersion: '3', grypeDbBuilt: '4', grypeDbChecksum: '5' },
  ].map((scan): [JsonObject, JsonObject] => {
    const empty = {
      ...{ scanner: '', componentId: '', componentVersion: '', componentType: '', componentLocation: '' },
      ...{ artifactVersion: '', scannerVersion: '', grypeDbBuilt: '', grypeDbChecksum: '' },
    }
    const all = { ...empty, ...scan }
    return [
      { detection: { scanv1: { ...all, subpackageName: 'sub', componentName: 'stdlib' } } },
      { detection: { scanv1: { ...all, subpackage: 'sub', component: 'stdlib' } } },
    ]
  }),
]

examples('writing advisories', {
  async 'v1 stores every field of an advisory, and v2 returns every field'(stage) {
    const { succeed, owner } = stage
    const advisoryId = newId()
    const all = {
      ...required,
      artifactArchitecture: 'all',
      componentName: 'stdlib',
      componentLocation: '/usr/bin/static',
      componentType: 'go-module',
      aliases: ['CVE-2026-12345', 'GHSA-aaaa-bbbb-cccc'],
      author: 'ada@example.com',
      legacyAdvisoryID: 'OLD-1',
    }
    const made = await makeAdvisory(stage, {
      ...{
        ...all,
        advisoryId,
        id: 'x',
        createdAt: '2001-01-01T00:00:00Z',
        deletedAt: '2001-01-01T00:00:00Z',
      },
      events: [{ id: 'x', detection: { manual: {} }, findings: 'AQID', issue: 'https://issues.example/1' }],
    })
    const { id, createdAt, events, ...otherFields } = made
    assert.equal(String(id).slice(0, -17), owner.organization)
    assert.deepEqual(otherFields, { ...all, advisoryId, updatedAt: createdAt })
    const [event = {}] = eventsOf(made)
    assert.equal(String(event.id).slice(0, -17), id)
    assert.deepEqual(event, {
      id: event.id,
      timestamp: createdAt,
      findings: 'AQID',
      author: owner.identity,
      reviewer: '',
      status: 'PENDING',
      issue: 'https://issues.example/1',
      detection: { manual: {} },
    })
    const { legacyAdvisoryID, ...common } = all
    assert.deepEqual(await succeed(getAdvisory, { uid: id as string }), {
      ...{ ...common, advisoryId, uid: id, createTime: createdAt, updateTime: createdAt, severities: [] },
      legacyAdvisoryId: legacyAdvisoryID,
      events: [
        {
          ...{
            uid: event.id,
            createTime: createdAt,
            findings: 'AQID',
            author: owner.identity,
            reviewer: '',
          },
          ...{ reviewState: 'REVIEW_STATE_PENDING', issue: 'https://issues.example/1' },
          detection: { manual: {} },
        },
      ],
    })
    assert.deepEqual(await uidsOf(stage, { advisoryIds: [advisoryId] }), [id])
    await assertTally(stage)
  },

  async 'unset optional fields are left out'(stage) {
    const { id, advisoryId, createdAt, ...otherFields } = await makeAdvisory(stage)
    assert.deepEqual(otherFields, {
      ...{ ...required, artifactArchitecture: '', aliases: [], events: [], updatedAt: createdAt },
      author: stage.owner.identity,
    })
  },

  async 'an id cannot be used again, even after a withdrawal'(stage) {
    const { succeed, fail, owner } = stage
    const advisoryId = newId()
    const { id } = await makeAdvisory(stage, { advisoryId })
    const again = { parentId: owner.organization, advisory: { ...required, advisoryId } }
    assert.equal((await fail(create, again)).code, 6)
    await succeed(withdraw, { id: id as string })
    assert.equal((await fail(create, again)).code, 6)
    for (const wrong of ['CGA-1', 'CVE-2026-1', advisoryId.toLowerCase(), `${advisoryId}-2222`]) {
      const error = await fail(create, { ...again, advisory: { ...required, advisoryId: wrong } })
      assert.deepEqual(violations(error), ['advisory.advisoryId'])
    }
  },

  async 'every event type converts between the versions in both directions'(stage) {
    const { succeed } = stage
    const id = await makeUid(stage)
    for (const [v1Event] of eventSpellings) {
      const made = await succeed(createAdvisoryEvent, { parentId: id, advisoryEvent: v1Event })
      const [type = ''] = Object.keys(v1Event)
      assert.deepEqual(made[type], v1Event[type])
    }
    const shown = eventsOf(await succeed(getAdvisory, { uid: id }))
    const list = await succeed(listAdvisoryEvents, { parentId: id })
    assert.equal(list.parentId, id)
    for (const [at, [v1Event, v2Event]] of eventSpellings.entries()) {
      const [type = ''] = Object.keys(v2Event)
      assert.deepEqual(shown[at]?.[type], v2Event[type])
      assert.deepEqual((list.items as JsonObject[])[at]?.[type], v1Event[type])
    }
    const uid = await makeUid(stage, { events: eventSpellings.map(([v1Event]) => v1Event) })
    const createdTogether = eventsOf(await succeed(getAdvisory, { uid }))
    assert.deepEqual(
      createdTogether.map(({ uid: _, createTime: __, ...event }) => event),
      shown.map(({ uid: _, createTime: __, ...event }) => event),
    )
  },

  async 'events are sorted by time, in whatever order they are added'(stage) {
    const { succeed } = stage
    const at = (year: number) => ({
      timestamp: `${year}-01-01T00:00:00Z`,
      fixNotPlanned: { note: `${year}` },
    })
    const { id } = await makeAdvisory(stage, { events: [at(2023), at(2021)] })
    const parentId = id as string
    const made = await succeed(createAdvisoryEvent, { parentId, advisoryEvent: at(2022) })
    assert.equal(made.timestamp, '2022-01-01T00:00:00.000Z')
    await succeed(createAdvisoryEvent, { parentId, advisoryEvent: { fixNotPlanned: { note: 'now' } } })
    const notes = async () => {
      const { items } = await succeed(listAdvisoryEvents, { parentId })
      return (items as { fixNotPlanned: JsonObject }[]).map(({ fixNotPlanned: { note } }) => note)
    }
    assert.deepEqual(await notes(), ['2021', '2022', '2023', 'now'])
    await succeed(updateAdvisoryEvent, { ...at(2024), id: made.id as string })
    assert.deepEqual(await notes(), ['2021', '2023', '2024', 'now'])
  },

  async 'an update replaces the fields and keeps the events'(stage) {
    const { succeed, fail, owner } = stage
    const made = await makeAdvisory(stage, {
      ...{ componentName: 'stdlib', aliases: ['CVE-2026-1', 'CVE-2026-2'], legacyAdvisoryID: 'OLD-7' },
      ...{ author: 'ada', events: [{ detection: { manual: {} } }] },
    })
    const id = made.id as string
    const change = {
      id,
      artifactName: 'dynamic',
      artifactType: 'npm',
      aliases: ['CVE-2026-2', 'CVE-2026-3'],
    }
    const changed = await succeed(update, { ...change, events: [{ fixed: { fixedVersion: '1' } }] })
    const { componentName, legacyAdvisoryID, ...kept } = made
    assert.deepEqual(changed, {
      ...{ ...kept, ...change, author: owner.identity, updatedAt: changed.updatedAt },
    })
    assert.ok(String(changed.updatedAt) > String(made.updatedAt))
    const { advisoryId } = made
    assert.deepEqual(await succeed(update, { ...change, advisoryId: advisoryId as string }), changed)
    const other = await fail(update, { ...change, advisoryId: newId() })
    assert.deepEqual(violations(other), ['advisoryId'])
    for (const alias of ['CVE-2026-2', 'CVE-2026-3'])
      assert.deepEqual(await uidsOf(stage, { aliases: [alias] }), [id])
    for (const old of [
      { aliases: ['CVE-2026-1'] },
      { artifactNames: ['static'] },
      { artifactTypes: ['apk'] },
      { componentNames: ['stdlib'] },
      { legacyAdvisoryIds: ['OLD-7'] },
      { query: 'stat' },
    ])
      assert.deepEqual(await uidsOf(stage, old), [], JSON.stringify(old))
    assert.deepEqual(await uidsOf(stage, { query: 'YNAM' }), [id])
    await assertTally(stage)
  },

  async 'updating an event replaces it, and keeps its time unless a new one is given'(stage) {
    const { succeed, fail } = stage
    const timestamp = '2025-05-05T05:05:05.500Z'
    const { id, events } = await makeAdvisory(stage, {
      events: [{ timestamp, detection: { manual: {} }, findings: 'AQID', issue: '#1', author: 'ada' }],
    })
    const event = (events as JsonObject[])[0]?.id as string
    const changed = await succeed(updateAdvisoryEvent, {
      id: event,
      fixed: { fixedVersion: '2' },
      author: 'bob',
    })
    const fixed = { fixedVersion: '2', note: '', scannerVersion: '', grypeDbBuilt: '', grypeDbChecksum: '' }
    assert.deepEqual(changed, {
      ...{ id: event, timestamp, findings: '', author: 'bob', reviewer: '', status: 'PENDING', fixed },
    })
    assert.deepEqual((await succeed(listAdvisoryEvents, { parentId: id as string })).items, [changed])
    assert.deepEqual(await uidsOf(stage, { eventTypes: ['EVENT_TYPE_FILTER_FIXED'] }), [id])
    assert.deepEqual(await uidsOf(stage, { eventTypes: ['EVENT_TYPE_FILTER_DETECTION'] }), [])
    assert.deepEqual(await uidsOf(stage, { eventAuthors: ['ada'] }), [])
    const unknown = { id: `${id}/${'0'.repeat(16)}`, fixed: {} }
    assert.equal((await fail(updateAdvisoryEvent, unknown)).code, 5)
    assert.equal((await fail(updateAdvisoryEvent, { id: id as string, fixed: {} })).code, 5)
  },

  async 'a withdrawn advisory can be read by uid, is in no list, and cannot be changed'(stage) {
    const { succeed, fail } = stage
    const advisoryId = newId()
    const made = await makeAdvisory(stage, {
      ...{ advisoryId, aliases: ['CVE-2026-9'], events: [{ fixed: { fixedVersion: '1' } }] },
    })
    const id = made.id as string
    const before = await succeed(getAdvisory, { uid: id })
    assert.deepEqual(await succeed(withdraw, { id }), {})
    const { deleteTime, ...otherFields } = await succeed(getAdvisory, { uid: id })
    assert.ok(deleteTime)
    assert.deepEqual(otherFields, { ...before, updateTime: deleteTime })
    const { items } = await succeed(listAdvisoryEvents, { parentId: id })
    assert.deepEqual(items, made.events)
    for (const filter of [
      {},
      { advisoryIds: [advisoryId] },
      { aliases: ['CVE-2026-9'] },
      { query: '2026-9' },
      { uidp: { ids: [id] } },
      { eventReviewStates: ['REVIEW_STATE_PENDING'] },
    ])
      assert.deepEqual(await uidsOf(stage, filter), [], JSON.stringify(filter))
    const [event = {}] = eventsOf(made)
    assert.equal((await fail(withdraw, { id })).code, 5)
    assert.equal((await fail(update, { id, ...required })).code, 5)
    assert.equal((await fail(createAdvisoryEvent, { parentId: id, advisoryEvent: { fixed: {} } })).code, 5)
    assert.equal((await fail(updateAdvisoryEvent, { id: event.id as string, fixed: {} })).code, 5)
    await assertTally(stage)
  },

  async 'an unknown advisory or event returns 404'(stage) {
    const { fail, owner } = stage
    const nowhere = `${owner.organization}/${'0'.repeat(16)}`
    const noGroup = await fail(create, { parentId: nowhere, advisory: required })
    assert.equal(detail(noGroup, 'ResourceInfo')?.resourceType, 'platform.iam.v2beta1.Group')
    const insideAdvisory = await fail(create, { parentId: await makeUid(stage), advisory: required })
    assert.equal(insideAdvisory.code, 5, 'an advisory cannot be in an advisory')
    assert.equal((await fail(update, { id: nowhere, ...required })).code, 5)
    assert.equal((await fail(withdraw, { id: nowhere })).code, 5)
    assert.equal(
      (await fail(createAdvisoryEvent, { parentId: nowhere, advisoryEvent: { fixed: {} } })).code,
      5,
    )
    assert.equal((await fail(listAdvisoryEvents, { parentId: nowhere })).code, 5)
    assert.equal((await fail(listAdvisoryEvents, { parentId: 'x' })).code, 5)
    assert.equal((await fail(updateAdvisoryEvent, { id: nowhere, fixed: {} })).code, 5)
    assert.equal((await fail(updateAdvisoryEvent, { id: owner.organization, fixed: {} })).code, 5)
  },

  async 'errors name the fields of v1'(stage) {
    const { fail } = stage
    const { id, events } = await makeAdvisory(stage, {
      events: [{ timestamp: '2030-01-01T00:00:00Z', fixed: {} }],
    })
    const event = (events as JsonObject[])[0]?.id as string
    const wrongFields: [JsonObject, string][] = [
      [{ artifactName: '' }, 'artifactName'],
      [{ artifactName: 'a\nb' }, 'artifactName'],
      [{ artifactName: 'a\0b' }, 'artifactName'],
      [{ artifactType: '' }, 'artifactType'],
      [{ artifactArchitecture: 'x'.repeat(256) }, 'artifactArchitecture'],
      [{ componentName: 'x'.repeat(513) }, 'componentName'],
      [{ componentLocation: 'a\tb' }, 'componentLocation'],
      [{ author: 'x'.repeat(256) }, 'author'],
      [{ aliases: ['CVE-2026-1', 'no name'] }, 'aliases[1]'],
      [{ aliases: Array.from({ length: 201 }, (_, at) => `CVE-${at}`) }, 'aliases'],
      [{ legacyAdvisoryID: 'x'.repeat(256) }, 'legacyAdvisoryID'],
      [{ legacyAdvisoryID: 'a\nb' }, 'legacyAdvisoryID'],
    ]
    for (const [wrongField, field] of wrongFields) {
      const bad = { ...required, ...wrongField }
      const created = await fail(create, { parentId: stage.owner.organization, advisory: bad })
      assert.deepEqual(violations(created), [`advisory.${field}`], JSON.stringify(wrongField))
      assert.deepEqual(violations(await fail(update, { id: id as string, ...bad })), [field])
    }
    const scan = (scanv1: JsonObject) => ({ detection: { scanv1 } })
    const wrongEvents: [JsonObject, string][] = [
      [{}, 'type'],
      [{ fixed: {}, reviewer: 'a\nb' }, 'reviewer'],
      [{ fixed: {}, author: 'x'.repeat(256) }, 'author'],
      [{ fixed: {}, issue: 'x'.repeat(1025) }, 'issue'],
      [{ fixed: { note: 'x'.repeat(8193) } }, 'fixed.note'],
      [{ patched: { patchedVersions: ['1', 'x'.repeat(256)] } }, 'patched.patchedVersions[1]'],
      [
        { componentLocationChanged: { newLocation: 'x'.repeat(1025) } },
        'componentLocationChanged.newLocation',
      ],
      [scan({ componentName: 'x'.repeat(513) }), 'detection.scanv1.componentName'],
      [scan({ subpackageName: 'x'.repeat(513) }), 'detection.scanv1.subpackageName'],
      [scan({ componentType: 'x'.repeat(513) }), 'detection.scanv1.componentType'],
    ]
    for (const [bad, field] of wrongEvents) {
      const parentId = id as string
      const added = await fail(createAdvisoryEvent, { parentId, advisoryEvent: bad })
      assert.deepEqual(violations(added), [`advisoryEvent.${field}`], JSON.stringify(bad))
      assert.deepEqual(violations(await fail(updateAdvisoryEvent, { ...bad, id: event })), [field])
      // The index in the error is the position in the request, not the position after sorting by time.
      const validAndBad = [{ timestamp: '2030-01-01T00:00:00Z', fixed: {} }, bad]
      const created = await fail(create, {
        parentId: stage.owner.organization,
        advisory: { ...required, events: validAndBad },
      })
      assert.deepEqual(violations(created), [`advisory.events[1].${field}`], JSON.stringify(bad))
    }
    assert.deepEqual(violations(await fail(create, { parentId: stage.owner.organization })), ['advisory'])
    assert.deepEqual(violations(await fail(createAdvisoryEvent, { parentId: id as string })), [
      'advisoryEvent',
    ])
  },

  async 'the size of an advisory and the number of its events are limited'(stage) {
    const { succeed, fail, owner } = stage
    const small = { fixed: { fixedVersion: '1' } }
    const thousand = Array.from({ length: 1000 }, () => small)
    const parentId = owner.organization
    const tooMany = { parentId, advisory: { ...required, events: [...thousand, small] } }
    assert.deepEqual(violations(await fail(create, tooMany)), ['advisory.events'])
    const full = await makeUid(stage, { events: thousand })
    const oneMore = { parentId: full, advisoryEvent: small }
    assert.deepEqual(violations(await fail(createAdvisoryEvent, oneMore)), ['events'])
    const { items } = await succeed(listAdvisoryEvents, { parentId: full })
    assert.equal((items as unknown[]).length, 1000)

    const large = { ...small, findings: Buffer.alloc(400 * 1024, 1).toString('base64') }
    const half = await makeUid(stage, { events: [large] })
    assert.deepEqual(violations(await fail(createAdvisoryEvent, { parentId: half, advisoryEvent: large })), [
      'events',
    ])
    const oversized = { ...small, findings: Buffer.alloc(600 * 1024, 1).toString('base64') }
    const tooLarge = { parentId, advisory: { ...required, events: [oversized] } }
    assert.deepEqual(violations(await fail(create, tooLarge)), ['advisory.events'])
  },
})

examples('reviewing advisories', {
  async 'only a caller with advisories.approve can review events and change approved events'(stage) {
    const { succeed, fail, platform, owner } = stage
    const writer = await platform.addIdentityWith(owner.organization, [
      'CAP_ADVISORIES_CREATE',
      'CAP_ADVISORIES_UPDATE',
    ])
    const approver = await platform.addIdentityWith(owner.organization, [
      ...(['CAP_ADVISORIES_CREATE', 'CAP_ADVISORIES_UPDATE', 'CAP_ADVISORIES_APPROVE'] as const),
    ])
    const parentId = await makeUid(stage)
    const fixed = { fixedVersion: '1' }
    const assertDenied = async (...call: Parameters<ExampleContext['fail']>) => {
      const error = await fail(...call)
      assert.equal(error.code, 7, error.message)
      assert.match(error.message, /advisories\.approve/)
      const { permission } = (detail(error, 'ErrorInfo')?.metadata ?? {}) as JsonObject
      assert.equal(permission, 'advisories.approve')
    }
    for (const status of ['APPROVED', 'REQUEST_CHANGES', 'REJECTED']) {
      const advisoryEvent = { fixed, status }
      await assertDenied(createAdvisoryEvent, { parentId, advisoryEvent }, writer.token)
      const advisory = { ...required, advisoryId: newId(), events: [{ fixed }, advisoryEvent] }
      await assertDenied(create, { parentId: owner.organization, advisory }, writer.token)
      const reviewed = await succeed(create, { parentId: owner.organization, advisory }, approver.token)
      assert.deepEqual(
        eventsOf(reviewed).map(({ status, author, reviewer }) => ({ status, author, reviewer })),
        [
          { status: 'PENDING', author: approver.identity, reviewer: '' },
          { status, author: approver.identity, reviewer: approver.identity },
        ],
      )
    }
    const proposed = await succeed(createAdvisoryEvent, { parentId, advisoryEvent: { fixed } }, writer.token)
    const id = proposed.id as string
    assert.equal(proposed.status, 'PENDING')
    assert.equal(proposed.author, writer.identity)
    await assertDenied(updateAdvisoryEvent, { ...proposed, status: 'APPROVED' }, writer.token)
    const change = { ...proposed, fixed: { fixedVersion: '2' }, reviewer: 'eve' }
    const changed = await succeed(updateAdvisoryEvent, change, writer.token)
    assert.equal(changed.reviewer, '', 'only approvers name a reviewer')
    const latest = { latestEventType: 'EVENT_TYPE_FILTER_FIXED', uidp: { ids: [parentId] } }
    assert.deepEqual(await uidsOf(stage, latest), [])

    const approved = await succeed(updateAdvisoryEvent, { ...proposed, status: 'APPROVED' }, approver.token)
    assert.deepEqual(approved, { ...proposed, status: 'APPROVED', reviewer: approver.identity })
    assert.deepEqual(await uidsOf(stage, latest), [parentId])
    assert.equal((await uidsOf(stage, { eventReviewers: [approver.identity] })).length, 4)

    assert.deepEqual(
      await succeed(updateAdvisoryEvent, approved, writer.token),
      approved,
      'nothing has changed',
    )
    await assertDenied(updateAdvisoryEvent, { ...approved, fixed: { fixedVersion: '3' } }, writer.token)
    await assertDenied(updateAdvisoryEvent, { ...approved, timestamp: '2020-01-01T00:00:00Z' }, writer.token)
    await assertDenied(updateAdvisoryEvent, { ...approved, status: 'PENDING' }, writer.token)
    await assertDenied(updateAdvisoryEvent, { ...approved, reviewer: 'eve' }, writer.token)
    await assertDenied(updateAdvisoryEvent, { id, fixed }, writer.token)
    assert.deepEqual((await succeed(listAdvisoryEvents, { parentId })).items, [approved])

    const rejected = await succeed(updateAdvisoryEvent, { ...approved, status: 'REJECTED' }, approver.token)
    await assertDenied(updateAdvisoryEvent, { ...rejected, status: 'PENDING' }, writer.token)
    const changesRequested = { ...approved, status: 'REQUEST_CHANGES', reviewer: 'the board' }
    const returned = await succeed(updateAdvisoryEvent, changesRequested, approver.token)
    assert.equal(returned.reviewer, 'the board')
    const { status, ...withoutStatus } = proposed
    const resent = await succeed(updateAdvisoryEvent, { ...withoutStatus, fixed }, writer.token)
    assert.equal(resent.status, 'PENDING', 'an author can change an event after a request for changes')
    assert.deepEqual(await uidsOf(stage, latest), [])
  },

  async 'approval needs the capability in the group of the advisory or above'(stage) {
    const { succeed, fail, platform, owner } = stage
    const here = await succeed(createGroup, { parent: owner.organization, group: { name: 'here' } })
    const there = await succeed(createGroup, { parent: owner.organization, group: { name: 'there' } })
    const approver = await platform.addIdentityWith(here.uid as string, ['CAP_ADVISORIES_APPROVE'])
    const creator = await platform.addIdentityWith(owner.organization, ['CAP_ADVISORIES_CREATE'])
    const roleBinding = { identityUid: approver.identity, roleUid: creator.role }
    await succeed(createRoleBinding, { parent: owner.organization, roleBinding })
    const events = [{ fixed: {}, status: 'APPROVED' }]
    const advisory = () => ({ ...required, advisoryId: newId(), events })
    await succeed(create, { parentId: here.uid as string, advisory: advisory() }, approver.token)
    const elsewhere = { parentId: there.uid as string, advisory: advisory() }
    assert.equal((await fail(create, elsewhere, approver.token)).code, 7)
  },

  async 'each call needs its capability, and a refusal does not reveal whether the advisory exists'(stage) {
    const { fail, platform, owner } = stage
    const { id, events } = await makeAdvisory(stage, { events: [{ fixed: {} }] })
    const uid = id as string
    const event = (events as JsonObject[])[0]?.id as string
    const calls = [
      [
        create,
        { parentId: owner.organization, advisory: { ...required, artifactName: '' } },
        'CAP_ADVISORIES_CREATE',
      ],
      [update, { id: uid, ...required, artifactName: '' }, 'CAP_ADVISORIES_UPDATE'],
      [withdraw, { id: `${uid}/${'0'.repeat(16)}` }, 'CAP_ADVISORIES_DELETE'],
      [createAdvisoryEvent, { parentId: uid, advisoryEvent: {} }, 'CAP_ADVISORIES_CREATE'],
      [listAdvisoryEvents, { parentId: `${uid}/${'0'.repeat(16)}` }, 'CAP_ADVISORIES_LIST'],
      [updateAdvisoryEvent, { id: event }, 'CAP_ADVISORIES_UPDATE'],
    ] as const
    const allCapabilities = [...new Set(calls.map(([, , capability]) => capability))]
    for (const [method, request, capability] of calls) {
      const otherCapabilities = allCapabilities.filter((other) => other !== capability)
      const withoutCapability = await platform.addIdentityWith(owner.organization, [
        ...otherCapabilities,
        'CAP_ADVISORIES_APPROVE',
      ])
      const withCapability = await platform.addIdentityWith(owner.organization, [capability])
      assert.equal((await fail(method, request, withoutCapability.token)).code, 7, method.name)
      assert.ok([3, 5].includes((await fail(method, request, withCapability.token)).code), method.name)
    }
  },
})
