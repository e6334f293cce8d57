// Documents and vulnerabilities of very many or very large advisories.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { SecurityAdvisoryService } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import type { AdvisoryEventSchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema, ReviewState } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createAdvisory } from '../../server/resources/vulnerabilities/advisories/write.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ImportPlatform } from '../advisories/import-platform.ts'
import { osv, startImportPlatform } from '../advisories/import-platform.ts'
import { violations } from '../contract/examples.ts'

const { listDocuments, listVulnerabilityMetadata } = SecurityAdvisoryService.method

/**
 * More than `maxCandidates` of search.ts, so that it scans the list, and more than `maxTogether` of
 * find-vulnerabilities.ts, so that it looks the ids up one by one.
 */
const packageCount = 2100
const common = 'CVE-2026-10001'
const distinctIds = (count: number) => Array.from({ length: count }, (_, at) => `CVE-1999-${at}`)

onEachStore('documents and vulnerabilities of many advisories', (engine) => {
  let imports: ImportPlatform
  let door: Door
  let owner: TestIdentity
  before(async () => {
    // Without the lane, whose start takes more than a second of CPU time. e2e/advisories/lane.test.ts tests it.
    imports = await startImportPlatform(engine, { maxListRows: 2 ** 32 })
    owner = imports.platform.owner
    door = grpcDoor(imports.platform.url)
    const affected = Array.from({ length: packageCount }, (_, at) => ({
      package: { ecosystem: 'npm', name: `package-${at}` },
    }))
    const summary = await imports.runImport(await imports.put('record.json', osv(1, { affected })), owner)
    assert.equal(summary.new, packageCount)
  })
  after(async () => {
    door.close()
    await imports.stop()
  })

  const documents = (request: JsonObject) => door.call(listDocuments, request, owner.token)
  const vulnerabilities = (request: JsonObject) => door.call(listVulnerabilityMetadata, request, owner.token)

  test('are complete', async () => {
    const { body } = await documents({ cves: [common] })
    assert.equal((body?.documents as JsonObject[]).length, packageCount)
    const { body: found } = await vulnerabilities({ ids: [common, ...distinctIds(20)] })
    assert.equal(found?.totalCount, '1')
    const [metadata] = found?.vulnerabilityMetadata as JsonObject[]
    assert.equal(metadata?.summary, 'Crafted input discloses memory')
  })

  test('are complete even if an advisory has the longest possible fields', async () => {
    const aliases = Array.from({ length: 200 }, (_, at) => `CVE-${String(at).padStart(251, '0')}`)
    const long = (length: number) => 'x'.repeat(length)
    const advisory = create(AdvisorySchema, {
      ...{ author: 'ada', artifactName: long(512), artifactType: long(255), artifactArchitecture: long(255) },
      ...{ componentName: long(512), componentType: long(255), componentLocation: long(1024) },
      ...{ legacyAdvisoryId: long(255), aliases },
      events: aliases.map(
        (author): MessageInitShape<typeof AdvisoryEventSchema> => ({
          ...{ author, reviewState: ReviewState.APPROVED },
          type: { case: 'fixed', value: {} },
        }),
      ),
    })
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    await imports.platform.store.write(() => createAdvisory(context, owner.organization, advisory, long(512)))
    const { body } = await vulnerabilities({ ids: aliases })
    assert.equal(body?.totalCount, '200')
  })

  test('are refused if a filter has many values and matches too many advisories', async () => {
    const { error } = await documents({ cves: [common, ...distinctIds(999)] })
    assert.equal(error?.code, Code.INVALID_ARGUMENT)
    assert.deepEqual(error && violations(error), ['cves'])
  })

  test('are refused if a request names too many vulnerabilities', async () => {
    const { body } = await vulnerabilities({ ids: distinctIds(1000) })
    assert.deepEqual([body?.totalCount, body?.vulnerabilityMetadata], ['0', []])
    const { error } = await vulnerabilities({ ids: distinctIds(1001) })
    assert.deepEqual(error && violations(error), ['ids'])
  })

  test('are refused if they are too large for one response', async () => {
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    await imports.platform.store.write(function* () {
      const uids: string[] = []
      for (let at = 0; at < 34; at++) {
        const findings = Buffer.alloc(at === 0 ? 500 * 1024 : 1)
        const type = { case: 'fixed', value: {} } as const
        const advisory = create(AdvisorySchema, {
          ...{ author: 'ada', artifactType: 'apk', artifactName: 'large', aliases: [`CVE-2020-${at}`] },
          events: [{ author: 'ada', reviewState: ReviewState.APPROVED, findings, type }],
        })
        uids.push(yield* createAdvisory(context, owner.organization, advisory))
      }
      // The store copies the 500 KiB faster than the test can send them 34 times.
      yield sql`update advisories set proto = (select proto from advisories where uid = ${uids[0] ?? ''})
        where artifact_name = 'large'`
    })
    for (const request of [{}, { id: 'large' }]) {
      const { error } = await documents(request)
      assert.equal(error?.code, Code.RESOURCE_EXHAUSTED)
      assert.match(error?.message ?? '', /name a package in id, or vulnerabilities in cves/)
    }
    for (const request of [{ id: 'package-7' }, { id: 'large', cves: ['CVE-2020-7'] }]) {
      const { body } = await documents(request)
      assert.equal((body?.documents as JsonObject[]).length, 1)
    }
  })
})
