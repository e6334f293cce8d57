// The SecurityAdvisory services: documents, each with the advisories of one package, and metadata of vulnerabilities.
// Both are made of advisories that were imported or written with v1.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { SecurityAdvisory } from '@stemma/api/gen/platform/advisory/security_advisory_pb.ts'
import { SecurityAdvisoryService } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { violations } from '../contract/examples.ts'
import { countingIds } from './advisory-ids.ts'
import type { ImportPlatform } from './import-platform.ts'
import { osv, startImportPlatform } from './import-platform.ts'

const v2 = SecurityAdvisoryService.method
const v1 = SecurityAdvisory.method
const newId = countingIds('CGA-gggg-gggg')

const affectedEntry = (name: string, upstream = '') => ({
  package: {
    ecosystem: 'Debian:12',
    name,
    ...(upstream && { purl: `pkg:deb/debian/${name}?upstream=${upstream}` }),
  },
  ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '3.0.1' }] }],
})

/** libssl is built from openssl. The second record is about the vulnerability itself. */
const records = [
  osv(1, {
    aliases: ['CVE-2026-10001'],
    summary: 'of the alias',
    affected: [affectedEntry('openssl'), affectedEntry('libssl', 'openssl'), affectedEntry('curl')],
  }),
  osv(2, {
    id: 'CVE-2026-10001',
    aliases: [],
    summary: 'Memory is disclosed',
    details: 'Half a \ud83d and a whole 😀',
    severity: [{ type: 'CVSS_V4', score: 'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:N/VA:N/SC:N/SI:N/SA:N' }],
    references: [
      { type: 'FIX', url: 'https://example.com/fix' },
      { type: 'GIT', url: 'https://example.com/git' },
      { type: 'WEB' },
      'https://example.com',
      null,
    ],
    affected: [affectedEntry('zlib')],
  }),
  osv(3, { affected: [affectedEntry('zlib')] }),
]

onEachStore('documents and vulnerabilities', (engine) => {
  let imports: ImportPlatform
  let doors: Door[]
  let owner: TestIdentity
  /** May read only the group `team`, which has one advisory that was written by hand. */
  let reader: TestIdentity
  let stranger: TestIdentity
  const handwrittenId = newId()

  before(async () => {
    imports = await startImportPlatform(engine)
    const { platform } = imports
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    owner = platform.owner
    stranger = await platform.addOrganization('stranger.example.com')
    for (const record of records) await imports.put(`records/${record.id}.json`, record)
    const summary = await imports.runImport(join(imports.folder, 'records'), owner)
    assert.equal(summary.new, 5, JSON.stringify(summary))
    const group = await succeed(GroupsService.method.createGroup, {
      parent: owner.organization,
      group: { name: 'team' },
    })
    reader = await platform.addIdentity(owner.organization)
    await platform.bind(reader.identity, 'viewer', group.uid as string)
    const advisory = {
      ...{ artifactName: 'curl', artifactType: 'apk', aliases: ['CVE-2026-10001'] },
      advisoryId: handwrittenId,
      events: handwrittenEvents,
    }
    await succeed(Advisories.method.create, { parentId: group.uid as string, advisory })
  })
  after(async () => {
    for (const door of doors) door.close()
    await imports.stop()
  })

  /** Calls over REST. A list is also called over gRPC and must have the same response there. */
  async function succeed(method: DescMethod, request: JsonObject, as = owner): Promise<JsonObject> {
    const [rest, grpc] = doors as [Door, Door]
    const { body, error } = await rest.call(method, request, as.token)
    assert.ok(body, error?.message)
    const isRead = method.name.startsWith('List')
    if (isRead) assert.deepEqual(stable((await grpc.call(method, request, as.token)).body), stable(body))
    return body
  }

  async function fail(method: DescMethod, request: JsonObject) {
    const errors = await Promise.all(doors.map((door) => door.call(method, request, owner.token)))
    const [{ error } = {}] = errors
    assert.ok(error)
    assert.ok(errors.every((result) => result.error?.code === error.code))
    return error
  }

  /** The ids of packages, each with the number of its advisories. */
  async function packagesOf(filter: JsonObject, as = owner): Promise<[unknown, number][]> {
    const { documents } = await succeed(v2.listDocuments, filter, as)
    return (documents as JsonObject[]).map(({ id, advisories }) => [id, (advisories as unknown[]).length])
  }

  const metadataOf = async (filter: JsonObject, as = owner) =>
    succeed(v2.listVulnerabilityMetadata, filter, as)

  async function idsOf(filter: JsonObject, as = owner): Promise<unknown[]> {
    const { vulnerabilityMetadata } = await metadataOf(filter, as)
    return (vulnerabilityMetadata as JsonObject[]).map(({ id }) => id)
  }

  test('documents group advisories by source package', async () => {
    assert.deepEqual(await packagesOf({}), [
      ['curl', 2],
      ['openssl', 2],
      ['zlib', 2],
    ])
  })

  test('documents are filtered by package and by vulnerability', async () => {
    assert.deepEqual(await packagesOf({ id: 'openssl' }), [['openssl', 2]])
    // libssl is not a document, because it is built from openssl.
    assert.deepEqual(await packagesOf({ id: 'libssl' }), [])
    assert.deepEqual(await packagesOf({ cves: ['CVE-2026-10003', 'CVE-1'] }), [['zlib', 1]])
    assert.deepEqual(await packagesOf({ id: 'zlib', cves: ['CVE-2026-10001'] }), [['zlib', 1]])
    assert.deepEqual(await packagesOf({ id: 'curl', cves: ['CVE-2026-10003'] }), [])
  })

  test('documents contain approved events, converted to the event types of documents', async () => {
    const { documents } = await succeed(v2.listDocuments, { id: 'curl' })
    const [curl] = documents as [{ advisories: JsonObject[] }]
    const advisory = curl.advisories.find(({ id }) => id === handwrittenId)
    assert.deepEqual(
      { ...advisory, events: withoutTimes(advisory?.events) },
      {
        ...{ id: handwrittenId, aliases: ['CVE-2026-10001'], packageNamespace: '' },
        events: documentEvents('TYPE_'),
      },
    )
    assert.equal((advisory?.events as JsonObject[])[0]?.timestamp, '2026-01-01T00:00:00.000Z')
  })

  test('documents of v1 have the field and enum names of v1', async () => {
    const { items } = await succeed(v1.listDocuments, { id: 'curl' })
    const [curl] = items as [{ id: string; advisories: JsonObject[] }]
    const advisory = curl.advisories.find(({ id }) => id === handwrittenId)
    assert.deepEqual(withoutTimes(advisory?.events), documentEvents('FPT_TYPE_'))
    const { items: none } = await succeed(v1.listDocuments, { id: 'none' })
    assert.deepEqual(none, [])
  })

  test('callers get documents and vulnerabilities of the advisories that they may list', async () => {
    assert.deepEqual(await packagesOf({}, reader), [['curl', 1]])
    assert.deepEqual(await idsOf({ ids: ['CVE-2026-10001', 'CVE-2026-10003'] }, reader), ['CVE-2026-10001'])
    assert.deepEqual(await packagesOf({}, stranger), [])
    assert.deepEqual(await idsOf({ ids: ['CVE-2026-10001'] }, stranger), [])
    // The record of the vulnerability is not in the group of the reader, so its text is not shown.
    const { vulnerabilityMetadata } = await metadataOf({ id: 'CVE-2026-10001' }, reader)
    assert.deepEqual(vulnerabilityMetadata, [
      { id: 'CVE-2026-10001', summary: '', details: '', references: [], severities: [] },
    ])
  })

  test('vulnerabilities have the texts of their OSV record', async () => {
    const score = 'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:N/VA:N/SC:N/SI:N/SA:N'
    const texts = {
      ...{ id: 'CVE-2026-10001', summary: 'Memory is disclosed' },
      details: 'Half a \ufffd and a whole 😀',
    }
    const urls = ['https://example.com/fix', 'https://example.com/git']
    assert.deepEqual(await metadataOf({ id: 'CVE-2026-10001' }), {
      vulnerabilityMetadata: [
        {
          ...texts,
          references: [
            { type: 'TYPE_FIX', url: urls[0] },
            { type: 'TYPE_UNSPECIFIED', url: urls[1] },
          ],
          severities: [{ type: 'TYPE_CVSS_V4', score }],
        },
      ],
      ...{ totalCount: '1', skipped: 0 },
    })
    assert.deepEqual(await succeed(v1.listVulnerabilityMetadata, { ids: ['CVE-2026-10001'] }), {
      items: [
        {
          ...texts,
          references: [
            { type: 'FIX', url: urls[0] },
            { type: 'UNSPECIFIED', url: urls[1] },
          ],
          severity: [{ type: 'CVSS_V4', score }],
        },
      ],
      ...{ nextPageToken: '', totalCount: '1', skipped: 0 },
    })
  })

  test('vulnerabilities are listed in pages, and unknown ids are left out', async () => {
    const ids = [...(records[0] ? [records[0].id] : []), 'CVE-2026-10003', 'CVE-none', 'CVE-2026-10001']
    const sorted = ['CVE-2026-10001', 'CVE-2026-10003', records[0]?.id]
    assert.deepEqual(await idsOf({ ids }), sorted)
    assert.deepEqual(await idsOf({ ids, orderBy: 'id desc' }), sorted.toReversed())
    assert.deepEqual(await idsOf({ ids, skip: 1 }), sorted.slice(1))
    assert.deepEqual(await idsOf({ id: 'CVE-2026-10003', ids: ['CVE-2026-10001'] }), sorted.slice(0, 2))
    const seen: unknown[] = []
    let pageToken = ''
    do {
      const page = await metadataOf({ ids, pageSize: 1, pageToken })
      assert.equal(page.totalCount, '3')
      seen.push(...(page.vulnerabilityMetadata as JsonObject[]).map(({ id }) => id))
      pageToken = String(page.nextPageToken ?? '')
    } while (pageToken !== '')
    assert.deepEqual(seen, sorted)
    const { nextPageToken } = await metadataOf({ ids, pageSize: 1 })
    for (const other of [{ ids: ['CVE-2026-10001'] }, { ids, orderBy: 'id desc' }]) {
      const error = await fail(v2.listVulnerabilityMetadata, { ...other, pageToken: nextPageToken as string })
      assert.deepEqual(violations(error), ['pageToken'])
    }
  })

  test('wrong values are refused with the name of the field', async () => {
    const wrong = async (method: DescMethod, request: JsonObject) => violations(await fail(method, request))
    for (const method of [v2.listVulnerabilityMetadata, v1.listVulnerabilityMetadata]) {
      assert.deepEqual(await wrong(method, {}), ['ids'])
      assert.deepEqual(await wrong(method, { ids: ['CVE-1'], pageSize: -1 }), ['pageSize'])
      assert.deepEqual(await wrong(method, { ids: ['CVE-1'], skip: -1 }), ['skip'])
      assert.deepEqual(await wrong(method, { ids: ['CVE-1'], orderBy: 'summary' }), ['orderBy'])
      assert.deepEqual(await wrong(method, { ids: ['CVE-1'], pageToken: 'x' }), ['pageToken'])
    }
    for (const method of [v2.listDocuments, v1.listDocuments])
      assert.deepEqual(await wrong(method, { cves: ['x'.repeat(256)] }), ['cves[0]'])
  })
})

const at = (day: number, status = 'APPROVED') => ({
  timestamp: `2026-01-0${day}T00:00:00Z`,
  status,
})

const scan = { scanner: 'grype', subpackageName: 'sub', componentName: 'stdlib' }

const handwrittenEvents: JsonObject[] = [
  { ...at(1), detection: { scanv1: scan } },
  { ...at(2), fixed: { fixedVersion: '1', note: 'not in documents', scannerVersion: '2' } },
  { ...at(3), falsePositiveDetermination: { type: 'INLINE_MITIGATIONS_EXIST', note: 'n' } },
  { ...at(4), patched: { patchedVersions: ['1-r2', '1-r3'] } },
  { ...at(5), patched: {} },
  { ...at(6), componentLocationChanged: { previousLocation: '/a', newLocation: '/b' } },
  { ...at(7), fixNotPlanned: { note: 'end of life' } },
  { ...at(8, 'PENDING'), truePositiveDetermination: { note: 'a proposal' } },
]

const emptyScan = {
  ...{ componentId: '', componentVersion: '', componentType: '', componentLocation: '', artifactVersion: '' },
  ...{ scannerVersion: '', grypeDbBuilt: '', grypeDbChecksum: '' },
}
const noScanner = { scannerVersion: '', grypeDbBuilt: '', grypeDbChecksum: '' }

/** The handwritten events as documents show them. Every enum value begins with `prefix`. */
const documentEvents = (prefix: string) => [
  { detection: { scanv1: { ...emptyScan, ...scan } } },
  { fixed: { ...noScanner, fixedVersion: '1', scannerVersion: '2' } },
  { falsePositiveDetermination: { type: `${prefix}INLINE_MITIGATIONS_EXIST`, note: 'n' } },
  { fixed: { ...noScanner, fixedVersion: '1-r2' } },
  { fixNotPlanned: { note: 'end of life' } },
]

const withoutTimes = (events: unknown) => (events as JsonObject[]).map(({ timestamp: _, ...event }) => event)

/** Two calls may get different page tokens for the same page. */
const stable = (body: JsonObject | undefined) => body && { ...body, nextPageToken: '' }
