// Every text and every list of a request has a maximum size, so that the cost of a call is bounded.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescField, DescMessage, JsonObject } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isOutputOnly, isScope, rulesOf } from '@stemma/api/method.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

/**
 * Requests of version 1 are not checked here. They are converted to requests of version 2, whose rules apply.
 * Advisories in requests of version 1 are checked when they are stored.
 */
const isVersion1 = ({ file }: DescMessage) =>
  /^platform\.(iam|registry|events|vulnerabilities\.v1)$/.test(file.proto.package)

/** Whether a pattern has a repetition without a maximum. Escaped characters and character classes do not matter. */
const isUnbounded = (pattern: string) =>
  /[*+]|\{\d+,\}/.test(pattern.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x'))

function faultsOf(field: DescField): string[] {
  const { maxLength, maxItems, uid, pattern } = rulesOf(field)
  const isCollection = field.fieldKind === 'list' || field.fieldKind === 'map'
  const isText =
    field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES || hasTextInMap(field)
  // A scope is refused unless it is a uid, and uids have a maximum length.
  const isBounded = maxLength > 0 || uid || isScope(field) || (pattern !== '' && !isUnbounded(pattern))
  const name = `${field.parent.typeName}.${field.name}`
  return [
    ...(isText && !isBounded ? [`${name} has no maximum length`] : []),
    ...(isCollection && maxItems === 0 ? [`${name} has no maximum number of entries`] : []),
  ]
}

const hasTextInMap = (field: DescField) =>
  field.fieldKind === 'map' && (field.mapKey === ScalarType.STRING || field.scalar === ScalarType.STRING)

function faultsOfMessage(desc: DescMessage, seen: Set<DescMessage>): string[] {
  if (seen.has(desc) || desc.typeName.startsWith('google.protobuf.') || isVersion1(desc)) return []
  seen.add(desc)
  return desc.fields
    .filter((field) => !isOutputOnly(field))
    .flatMap((field) => [...faultsOf(field), ...(field.message ? faultsOfMessage(field.message, seen) : [])])
}

onEachStore('requests', (engine) => {
  let platform: Platform
  let door: Door
  before(async () => {
    platform = await sharedPlatform(engine)
    door = grpcDoor(platform.url)
  })
  after(async () => {
    door.close()
    await platform.stop()
  })

  test('have a maximum size for every text and every list', () => {
    const seen = new Set<DescMessage>()
    assert.deepEqual(
      platform.app.endpoints.flatMap(({ method }) => faultsOfMessage(method.desc.input, seen)),
      [],
    )
    assert.ok(seen.size > 50)
  })

  const list = (request: JsonObject) =>
    door.call(AdvisoriesService.method.listAdvisories, request, platform.owner.token)
  const distinctTexts = (count: number, length = 20) =>
    Array.from({ length: count }, (_, at) => String(at).padStart(length, 'x'))

  test('to list advisories may have many values, in one filter or in several', async () => {
    assert.equal((await list({ advisoryIds: distinctTexts(1000) })).body?.totalCount, '0')
    const filters = ['advisoryIds', 'legacyAdvisoryIds', 'artifactNames', 'artifactTypes', 'aliases']
    const { body } = await list(Object.fromEntries(filters.map((name) => [name, distinctTexts(1000)])))
    assert.equal(body?.totalCount, '0')
    assert.equal((await list({ excludeEventAuthors: distinctTexts(100) })).body?.totalCount, '0')
  })

  test('to list advisories are refused if a field has too many or too long values', async () => {
    for (const [request, message] of [
      [{ aliases: distinctTexts(1001) }, /aliases: must have at most 1000 entries/],
      [{ artifactNames: distinctTexts(1, 513) }, /artifact_names\[0\]: must be at most 512 characters/],
      [
        { componentLocations: distinctTexts(1, 100_000) },
        /component_locations\[0\]: must be at most 1024 characters/,
      ],
      [{ pageToken: 'x'.repeat(100_000) }, /page_token: must be at most 4096 characters/],
      [{ orderBy: 'uid,'.repeat(10_000) }, /order_by: must be at most 1024 characters/],
      [{ origin: 'x'.repeat(513) }, /origin: must be at most 512 characters/],
    ] as const) {
      const { error } = await list(request)
      assert.equal(error?.code, 3, JSON.stringify(error)?.slice(0, 500))
      assert.match(String(error?.message), message)
    }
  })
})
