// Expensive lists run in a thread of their own, the lane, with the same results.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { SecurityAdvisory } from '@stemma/api/gen/platform/advisory/security_advisory_pb.ts'
import { SecurityAdvisoryService } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import {
  AdvisoriesService,
  AdvisorySchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { App } from '../../server/app.ts'
import { startApp } from '../../server/app.ts'
import { openLog } from '../../server/log.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createAdvisory } from '../../server/resources/vulnerabilities/advisories/write.ts'
import { sql } from '../../server/store/sql.ts'
import { all } from '../../server/store/work.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { onlyWorker } from '../../server/worker-role.ts'

const { listAdvisories, exportAdvisoriesOsv } = AdvisoriesService.method
const { listDocuments, listVulnerabilityMetadata } = SecurityAdvisoryService.method

/**
 * Lists that cost more than this number of rows run in the lane. A single scan costs this much
 * (`rowsPerScan` in server/store/list/plan.ts), so the filtered lists of these tests cost more.
 */
const maxListRows = 50

onEachStore('an expensive list', (engine) => {
  let platform: Platform
  let app: App
  let doorsWithLane: Door[]
  let doors: Door[]
  let laneCalls = 0

  before(async () => {
    platform = await startPlatform(engine)
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    for (let at = 0; at < 30; at++) {
      const draft: MessageInitShape<typeof AdvisorySchema> = {
        ...{ author: 'ada', artifactType: 'apk', artifactName: `package-${at % 7}` },
        aliases: [`CVE-2026-${at}`, 'CVE-common'],
      }
      const advisory = create(AdvisorySchema, draft)
      await platform.store.write(() => createAdvisory(context, platform.owner.organization, advisory))
    }
    const role = onlyWorker(platform.config)
    const lane = role.lane ?? assert.fail('the server has a lane')
    const countingRole: typeof role = {
      ...role,
      lane: {
        call(...call) {
          laneCalls++
          return lane.call(...call)
        },
        stream(...call) {
          laneCalls++
          return lane.stream(...call)
        },
      },
    }
    app = await startApp(platform.config, openLog('silent'), { maxListRows }, countingRole)
    const url = `http://127.0.0.1:${app.port}`
    doorsWithLane = [restDoor(url), grpcDoor(url)]
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of [...doorsWithLane, ...doors]) door.close()
    await app.stop(true)
    await platform.stop()
  })

  /** Compares `app` with `platform`, which has a higher limit and does not use its lane, through both doors. */
  async function compare(
    method: Parameters<Door['call']>[0],
    request: JsonObject,
    token = platform.owner.token,
  ) {
    for (const [at, door] of doors.entries()) {
      const expected = await door.call(method, request, token)
      const actual = await doorsWithLane[at]?.call(method, request, token)
      assert.deepEqual(withoutToken(actual?.body), withoutToken(expected.body))
      assert.deepEqual(actual?.error, expected.error)
    }
  }

  test('returns what it would return in that thread', async () => {
    for (const request of [
      { query: 'package-3' },
      { query: 'cve-2026-1', orderBy: 'artifact_name desc', pageSize: 5 },
      { artifactNames: ['package-1', 'package-2'], skip: 3 },
      { query: 'package', skip: 29 },
      { query: 'package-0', orderBy: 'create_time' },
    ])
      await compare(listAdvisories, request)
    assert.equal(laneCalls, 10)
  })

  test('continues with the page token of another thread', async () => {
    const [door] = doorsWithLane
    const seen: unknown[] = []
    let pageToken = ''
    do {
      const { body } =
        (await door?.call(
          listAdvisories,
          { query: 'package', pageSize: 7, pageToken },
          platform.owner.token,
        )) ?? {}
      seen.push(...((body?.advisories as unknown[]) ?? []))
      pageToken = String(body?.nextPageToken ?? '')
    } while (pageToken !== '')
    assert.equal(seen.length, 30)
  })

  test('is read by the lane, if it is a list of documents or of vulnerabilities', async () => {
    const callsBefore = laneCalls
    await compare(listDocuments, {})
    await compare(SecurityAdvisory.method.listDocuments, {})
    await compare(listVulnerabilityMetadata, { ids: ['CVE-2026-1', 'CVE-none'] })
    assert.equal(laneCalls - callsBefore, 4, 'two rows are few enough for the thread of the server')
    const ids = Array.from({ length: 30 }, (_, at) => `CVE-2026-${at}`)
    await compare(listVulnerabilityMetadata, { ids: ['CVE-common', ...ids] })
    assert.equal(laneCalls - callsBefore, 6)
  })

  test('fails with the same errors', async () => {
    await compare(listAdvisories, { query: 'package', pageToken: 'wrong' })
    await compare(listAdvisories, { query: 'package', orderBy: 'shoe_size' })
    const stranger = await platform.addOrganization('other.example.com')
    await compare(listAdvisories, { query: 'package' }, stranger.token)
    await compare(listAdvisories, { query: 'package' }, 'not a token')
  })

  test('sees every write that was acknowledged before', async () => {
    const [door] = doorsWithLane
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    for (let at = 0; at < 10; at++) {
      const draft = { author: 'ada', artifactType: 'apk', artifactName: `new-${at}` }
      const advisory = create(AdvisorySchema, draft)
      await platform.store.write(() => createAdvisory(context, platform.owner.organization, advisory))
      const result = await door?.call(listAdvisories, { query: 'new-' }, platform.owner.token)
      assert.equal(result?.body?.totalCount, String(at + 1))
    }
  })

  test('is streamed by the lane, if it is an export', async () => {
    const callsBefore = laneCalls
    await compare(exportAdvisoriesOsv, { query: 'package-3' })
    await compare(exportAdvisoriesOsv, { artifactNames: ['package-1'], orderBy: 'artifact_name' })
    assert.equal(laneCalls, callsBefore + 4)
    await compare(exportAdvisoriesOsv, {})
    assert.equal(laneCalls, callsBefore + 4)
    await compare(exportAdvisoriesOsv, { query: 'package-3', pageSize: 3 })
  })

  test('is read by the lane, if it is a list of v1', async () => {
    const callsBefore = laneCalls
    await compare(Advisories.method.list, { artifactName: ['package-1', 'package-2'] })
    await compare(Advisories.method.list, {})
    assert.equal(laneCalls, callsBefore + 2)
  })

  test('is read even if a newer version has migrated the store since this server started', async () => {
    const older = await startApp(platform.config, openLog('silent'), { maxListRows })
    const door = restDoor(`http://127.0.0.1:${older.port}`)
    try {
      await platform.store.write(() =>
        all(sql`insert into migrations (name, apply_time) values ('of-a-newer-version', 0)`),
      )
      const { error } = await door.call(listAdvisories, { query: 'package' }, platform.owner.token)
      assert.equal(error, undefined)
    } finally {
      await older.stop(true)
    }
  })
})

const withoutToken = (body: JsonObject | undefined) => body && { ...body, nextPageToken: '' }
