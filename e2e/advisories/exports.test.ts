// Streamed exports of a list of advisories as OSV and OpenVEX.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  AdvisoriesService,
  AdvisorySchema,
  ReviewState,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { importAdvisories } from '../../server/commands/import/import-advisories.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createAdvisory } from '../../server/resources/vulnerabilities/advisories/write.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { violations } from '../contract/examples.ts'
import { captureLog } from '../server/captured-log.ts'
import { remove, temporaryFolder, until } from '../server/stemmad.ts'

const { exportAdvisoriesOpenVex, exportAdvisoriesOsv, getAdvisoryOpenVex, getAdvisoryOsv, listAdvisories } =
  AdvisoriesService.method
const { createGroup } = GroupsService.method

const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false })
addFormats.default(ajv)
const compileSchema = (name: string) =>
  ajv.compile(JSON.parse(readFileSync(join(import.meta.dirname, `schemas/${name}.json`), 'utf8')))

const formats = [
  { stream: exportAdvisoriesOsv, single: getAdvisoryOsv, isValid: compileSchema('osv') },
  { stream: exportAdvisoriesOpenVex, single: getAdvisoryOpenVex, isValid: compileSchema('openvex') },
]

const fixedIn = (fixed: string) => [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed }] }]

const record = (id: string, affected: object[], otherFields: object = {}) => ({
  ...{ schema_version: '1.7.3', id, modified: '2026-02-03T04:05:06Z', published: '2026-01-02T03:04:05Z' },
  ...{ affected, ...otherFields },
})

/**
 * The first record affects several packages, the second a package in two releases of a distribution. The other records
 * have CGA ids.
 */
const records = [
  record('GHSA-2222-3333-4444', [
    { package: { ecosystem: 'npm', name: 'left-pad' }, ranges: fixedIn('1.2.3') },
    { package: { ecosystem: 'PyPI', name: 'left-pad' }, ranges: fixedIn('1.2.4') },
    { package: { ecosystem: 'npm', name: 'right-pad' } },
  ]),
  record(
    'ALPINE-CVE-2026-1',
    [
      { package: { ecosystem: 'Alpine:v3.22', name: 'zlib' }, ranges: fixedIn('1.3-r1') },
      { package: { ecosystem: 'Alpine:v3.23', name: 'zlib' }, ranges: fixedIn('1.3-r2') },
    ],
    { upstream: ['CVE-2026-1'] },
  ),
  record(
    'CGA-2222-3333-4444',
    [
      { package: { ecosystem: 'Chainguard', name: 'nginx' }, ranges: fixedIn('1.27-r1') },
      { package: { ecosystem: 'Wolfi', name: 'nginx' }, ranges: fixedIn('1.27-r0') },
    ],
    { upstream: ['CVE-2026-2'], aliases: ['GHSA-5555-6666-7777'] },
  ),
  record('CGA-5555-6666-7777', [
    { package: { ecosystem: 'Wolfi', name: 'curl' }, ranges: fixedIn('8.1-r0') },
  ]),
]

/** The fields that a copy of an advisory must share with the original. */
function comparableFields(advisory: JsonObject): JsonObject {
  const { artifactName, artifactType, aliases, severities } = advisory
  const events = (advisory.events as JsonObject[]).map(({ uid: _, createTime: __, ...event }) => event)
  return { artifactName, artifactType, aliases, severities, events } as JsonObject
}

const sorted = (objects: JsonObject[]) => objects.map((object) => JSON.stringify(object)).sort()

onEachStore('an export of a list of advisories', (engine) => {
  let platform: Platform
  let folder: string
  let owner: TestIdentity
  let group: string
  let doors: Door[]
  const { log, written } = captureLog('info')
  const logLines = (method: DescMethod) =>
    written
      .flatMap((text) => text.trim().split('\n'))
      .map((line) => JSON.parse(line) as { method?: string; door?: string; code?: string })
      .filter((line) => line.method?.endsWith(`.${method.name}`))

  before(async () => {
    platform = await startPlatform(engine, [], {}, log)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    folder = await temporaryFolder()
    owner = await platform.addOrganization('acme')
    await importFile(owner.organization, await writeRecords(records))
    const { body } = await callWith(
      createGroup,
      { parent: owner.organization, group: { name: 'here' } },
      owner,
    )
    group = body?.uid as string
    await addAdvisory(group, 'openssl')
    await addAdvisory(group, 'static')
    const stranger = await platform.addOrganization('other')
    await importFile(stranger.organization, await writeRecords(records.slice(0, 2)))
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await remove(folder)
  })

  async function writeRecords(osvRecords: object[]): Promise<string> {
    const file = join(folder, `${randomBytes(8).toString('hex')}.jsonl`)
    await writeFile(file, osvRecords.map((osv) => `${JSON.stringify(osv)}\n`).join(''))
    return file
  }

  async function importFile(organization: string, file: string) {
    const warnings: string[] = []
    const summary = await importAdvisories(
      { store: platform.store, now: Date.now },
      organization,
      file,
      (line) => warnings.push(line),
    )
    assert.deepEqual(warnings, [])
    return summary
  }

  function addAdvisory(parent: string, artifactName: string): Promise<string> {
    const advisory = create(AdvisorySchema, {
      ...{ author: 'ada', artifactName, artifactType: 'apk', aliases: ['CVE-2026-3'] },
      events: [
        {
          ...{ author: 'ada', reviewState: ReviewState.APPROVED },
          type: { case: 'fixed', value: { fixedVersion: '1.2.3-r0' } },
        },
      ],
    })
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    return platform.store.write(() => createAdvisory(context, parent, advisory))
  }

  const callWith = (method: DescMethod, request: JsonObject, { token }: TestIdentity, [door] = doors) =>
    (door as Door).call(method, request, token)

  async function documentsOf(
    door: Door,
    method: DescMethod,
    filter: JsonObject = {},
    { token } = owner,
  ): Promise<JsonObject[]> {
    const { body, error } = await door.call(method, filter, token)
    assert.ok(body, `${door.name} ${method.name}: ${error?.message}`)
    return body.documents as JsonObject[]
  }

  async function list(filter: JsonObject = {}, caller = owner): Promise<JsonObject[]> {
    const { body } = await callWith(listAdvisories, { pageSize: 200, ...filter }, caller)
    return body?.advisories as JsonObject[]
  }

  test('contains the document of each listed advisory in list order, and each document matches its schema', async () => {
    for (const door of doors) {
      for (const { stream, single, isValid } of formats) {
        for (const filter of [
          {},
          { orderBy: 'artifact_name desc' },
          { artifactNames: ['nginx', 'static'] },
          { uidp: { childrenOf: group } },
          { query: 'pad', orderBy: 'uid desc' },
          { latestEventType: 'EVENT_TYPE_FILTER_FIXED' },
          { aliases: ['CVE-1999-1'] },
        ] as JsonObject[]) {
          const expected = await list(filter)
          const documents = await documentsOf(door, stream, filter)
          assert.equal(documents.length, expected.length, JSON.stringify(filter))
          for (const [at, { uid }] of expected.entries()) {
            const { body } = await callWith(single, { uid: uid as string }, owner, [door])
            assert.deepEqual(documents[at], body)
            assert.ok(isValid(documents[at]), ajv.errorsText(isValid.errors))
          }
        }
        assert.equal((await documentsOf(door, stream)).length, 10)
      }
    }
  })

  test('contains only the advisories that the caller may see', async () => {
    const viewer = await platform.addIdentity(owner.organization, 'viewer', group)
    const nobody = await platform.addIdentity(owner.organization)
    for (const door of doors) {
      for (const { stream } of formats) {
        assert.equal((await documentsOf(door, stream, {}, viewer)).length, 2)
        assert.equal((await documentsOf(door, stream, {}, nobody)).length, 0)
      }
    }
  })

  test('refuses an invalid request before the first document', async () => {
    for (const door of doors) {
      for (const { stream } of formats) {
        assert.equal((await door.call(stream, {})).error?.code, 16)
        for (const [wrong, field] of [
          [{ orderBy: 'colour' }, 'orderBy'],
          [{ pageSize: 10 }, 'pageSize'],
          [{ pageToken: 'x' }, 'pageToken'],
          [{ skip: 1 }, 'skip'],
        ] as const) {
          const { error } = await door.call(stream, wrong, owner.token)
          assert.equal(error?.code, 3)
          assert.deepEqual(error && violations(error), [field])
        }
      }
    }
  })

  test('can be imported into another server, which then has the same advisories', async () => {
    const other = await startPlatform(engine)
    const door = restDoor(other.url)
    try {
      const answer = await fetch(`${platform.url}/vulnerabilities/v2beta1/advisories:osv`, {
        headers: { authorization: `Bearer ${owner.token}` },
      })
      const file = join(folder, 'dump.jsonl')
      await writeFile(file, await answer.text())
      const { organization, token } = other.owner
      const summary = await importAdvisories(
        { store: other.store, now: Date.now },
        organization,
        file,
        (line) => assert.fail(line),
      )
      assert.deepEqual([summary.records, summary.new], [10, 10])
      const { body } = await door.call(listAdvisories, { pageSize: 200 }, token)
      const copies = body?.advisories as JsonObject[]
      // The two advisories of `addAdvisory` are not compared: OSV cannot express all of their fields.
      const originals = (await list()).filter(({ author }) => author !== 'ada')
      assert.equal(originals.length, 8)
      const comparedCopies = copies.filter(({ artifactName }) =>
        originals.some((original) => original.artifactName === artifactName),
      )
      assert.deepEqual(sorted(comparedCopies.map(comparableFields)), sorted(originals.map(comparableFields)))
      const documents = await documentsOf(door, exportAdvisoriesOsv, {}, other.owner)
      const [rest] = doors as [Door]
      assert.deepEqual(sorted(documents), sorted(await documentsOf(rest, exportAdvisoriesOsv)))
    } finally {
      await other.stop()
    }
  })

  test('is logged when it has ended', async () => {
    for (const door of doors) {
      const countBefore = logLines(exportAdvisoriesOsv).length
      await documentsOf(door, exportAdvisoriesOsv)
      await until(() => logLines(exportAdvisoriesOsv).length > countBefore)
      const line = logLines(exportAdvisoriesOsv).at(-1)
      assert.deepEqual([line?.door, line?.code], [door.name.toLowerCase(), 'OK'])
    }
  })
})
