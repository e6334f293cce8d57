// Anybody can compute the ids of imported advisories, and a server accepts each id only once. An attacker who uses such
// an id first must not stop the import of another organization.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { convertRecords } from '../../server/commands/import/convert-records.ts'
import { importAdvisories } from '../../server/commands/import/import-advisories.ts'
import type { ImportRows } from '../../server/resources/vulnerabilities/advisories/import-rows.ts'
import { otherIds } from '../../server/resources/vulnerabilities/advisories/import-rows.ts'
import { seededBytes } from '../../server/resources/vulnerabilities/advisories/seeded-bytes.ts'
import { newAdvisoryId } from '../../server/resources/vulnerabilities/advisory-id.ts'
import { sql } from '../../server/store/sql.ts'
import { first } from '../../server/store/work.ts'
import type { Door } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { remove, temporaryFolder } from '../server/stemmad.ts'

const record = (number: number) => ({
  schema_version: '1.7.3',
  id: `GHSA-2222-3333-444${number}`,
  modified: '2026-02-03T04:05:06Z',
  published: '2026-01-02T03:04:05Z',
  summary: 'Crafted input discloses memory',
  affected: [
    {
      package: { ecosystem: 'npm', name: `left-pad-${number}` },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.2.3' }] }],
    },
  ],
})

onEachStore('an import whose generated ids somebody else has taken', (engine) => {
  let platform: Platform
  let folder: string
  let door: Door
  before(async () => {
    platform = await sharedPlatform(engine)
    folder = await temporaryFolder()
    door = restDoor(platform.url)
  })
  after(async () => {
    door.close()
    await platform.stop()
    await remove(folder)
  })

  const runImport = (group: string, path: string) =>
    importAdvisories({ store: platform.store, now: Date.now, convert: convertRecords }, group, path, (line) =>
      assert.fail(line),
    )

  async function list({ token }: TestIdentity): Promise<JsonObject[]> {
    const { body } = await door.call(AdvisoriesService.method.listAdvisories, {}, token)
    return body?.advisories as JsonObject[]
  }

  /** Predicts the id that the record of an imported advisory would get in another group. Also returns its source. */
  async function predict(group: string, imported: JsonObject): Promise<{ id: string; source: string }> {
    const query = sql`select source from advisory_sources where advisory = ${imported.uid as string}`
    const source = (await platform.store.read(() => first(query)))?.[0] as string
    const random = seededBytes(`${group}\0${source}`)
    random(8 * (1 + (imported.events as unknown[]).length)) // the bytes for the uids of the advisory and its events
    return { id: newAdvisoryId(random), source }
  }

  test('gives the advisories other ids, and finds them again when it is repeated', async () => {
    const attacker = await platform.addOrganization('attacker')
    const victim = await platform.addOrganization('victim')
    const file = join(folder, 'records.jsonl')
    await writeFile(file, [1, 2, 3].map((number) => JSON.stringify(record(number))).join('\n'))
    await runImport(attacker.organization, file)
    const [firstAdvisory, secondAdvisory] = (await list(attacker)) as [JsonObject, JsonObject]
    const firstPrediction = await predict(victim.organization, firstAdvisory)
    const secondPrediction = await predict(victim.organization, secondAdvisory)
    const rows = { source: secondPrediction.source } as ImportRows // otherIds reads no other field
    const firstSixOtherIds = otherIds(victim.organization, rows, 1, 6)
    const taken = [firstPrediction.id, secondPrediction.id, ...firstSixOtherIds]
    for (const id of taken) {
      const advisory = { advisoryId: id, artifactName: 'x', artifactType: 'apk' }
      const request = { parentId: attacker.organization, advisory }
      const { error } = await door.call(Advisories.method.create, request, attacker.token)
      assert.equal(error, undefined)
    }
    assert.equal((await runImport(victim.organization, file)).new, 3)
    const imported = await list(victim)
    const ids = imported.map(({ advisoryId }) => advisoryId as string)
    assert.equal(new Set([...ids, ...taken]).size, 3 + taken.length)
    const [firstFreeId = ''] = otherIds(victim.organization, rows, 7, 1)
    assert.ok(ids.includes(firstFreeId))
    for (const { aliases } of imported) assert.ok(!taken.some((id) => (aliases as string[]).includes(id)))
    assert.equal((await runImport(victim.organization, file)).same, 3)
    assert.deepEqual(await list(victim), imported)
  })
})
