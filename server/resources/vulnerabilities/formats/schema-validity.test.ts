// Exported documents are valid by the JSON schemas of OSV and OpenVEX.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisoryEventSchema,
  AdvisorySchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { violationsOf } from '../../../aip/validate.ts'
import { anyCodePoint } from '../../../testing/arbitraries.ts'
import type { EventType } from './events.ts'
import { manualDetection } from './events.ts'
import { readOsv } from './read-osv.ts'
import { readRecord } from './read-record.ts'
import { writeOpenVex } from './write-openvex.ts'
import { writeOsv } from './write-osv.ts'

const json = (path: string) => JSON.parse(readFileSync(join(import.meta.dirname, path), 'utf8'))
const schema = (name: string) => json(`../../../../e2e/advisories/schemas/${name}.json`)
const sample = (name: string) => json(`samples/${name}.json`)

const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false })
addFormats.default(ajv)
const isOsv = ajv.compile(schema('osv'))
const isOpenVex = ajv.compile(schema('openvex'))

function assertValid(validate: ValidateFunction, document: object): void {
  // Serialized as the server does, which removes undefined values.
  const isValid = validate(JSON.parse(JSON.stringify(document)))
  assert.ok(isValid, `${ajv.errorsText(validate.errors)} in ${JSON.stringify(document)}`)
}

const head = { id: 'https://stemma.test/vex/1', author: 'us', timestamp: 1_700_000_000_000, version: 1 }

const text = fc.string({ unit: anyCodePoint, maxLength: 20 }).filter((value) => !value.includes('\0'))
const word = fc.string({ unit: fc.constantFrom(...'abcAB09._:/@+- ü'), minLength: 1, maxLength: 20 })
const time = fc.integer({ min: 0, max: 4_102_444_800_000 }).map(timestampFromMs)
const type = fc.oneof(
  fc.constantFrom('apk', 'npm', 'pypi', 'go', 'golang', 'alpine', 'red hat', 'android', 'oci', 'PyPI'),
  word,
)

const eventType: fc.Arbitrary<EventType> = fc.oneof(
  fc.constant(manualDetection),
  fc
    .record({ note: text })
    .chain((value) =>
      fc.constantFrom(
        ...(
          ['truePositiveDetermination', 'fixNotPlanned', 'analysisNotPlanned', 'pendingUpstreamFix'] as const
        ).map((name): EventType => ({ case: name, value })),
      ),
    ),
  fc
    .record({ fixedVersion: fc.oneof(word, fc.constant('')), note: text })
    .map((value): EventType => ({ case: 'fixed', value })),
  fc
    .record({ patchedVersions: fc.array(word, { maxLength: 4 }), note: text })
    .map((value): EventType => ({ case: 'patched', value })),
  fc
    .record({ previousLocation: word, newLocation: word, note: text })
    .map((value): EventType => ({ case: 'componentLocationChanged', value })),
  fc
    .record({ type: fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7), note: text })
    .map((value): EventType => ({ case: 'falsePositiveDetermination', value })),
)

const event: fc.Arbitrary<AdvisoryEvent> = fc
  .record({ author: word, createTime: time, reviewState: fc.constantFrom(1, 2, 3, 4), type: eventType })
  .map((value) => create(AdvisoryEventSchema, value))

const score = fc.constantFrom(
  ...['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', 'AV:N/AC:L/Au:N/C:P/I:P/A:P', '9.8', ''],
  'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:N/VA:N/SC:N/SI:N/SA:N',
)

const idCharacter = fc.constantFrom(...'23456789cfghjmpqrvwx')
const idPart = fc.string({ unit: idCharacter, minLength: 4, maxLength: 4 })

const advisory: fc.Arbitrary<Advisory> = fc
  .record({
    advisoryId: fc.tuple(idPart, idPart, idPart).map((parts) => `CGA-${parts.join('-')}`),
    author: word,
    artifactName: word,
    artifactType: type,
    componentName: fc.oneof(word, fc.constant('')),
    componentType: fc.oneof(type, fc.constant('')),
    aliases: fc.array(fc.stringMatching(/^[A-Z]{3}-[0-9]{1,3}$/), { maxLength: 4 }),
    createTime: time,
    updateTime: time,
    deleteTime: fc.option(time, { nil: undefined }),
    events: fc.array(event, { maxLength: 5 }),
    severities: fc.array(fc.record({ type: fc.constantFrom(0, 1, 2, 3), score }), { maxLength: 3 }),
  })
  .map(({ deleteTime, ...value }) => create(AdvisorySchema, { ...value, ...(deleteTime && { deleteTime }) }))

describe('exported documents', () => {
  test('are valid OSV for any advisory', () => {
    const property = fc.property(advisory, (generated) => {
      assert.deepEqual(violationsOf(AdvisorySchema, generated), [])
      assertValid(isOsv, writeOsv(generated))
    })
    fc.assert(property, { numRuns: 500 })
  })

  const records = ['ghsa', 'go', 'alpine', 'withdrawn'].flatMap((name) => {
    assertValid(isOsv, sample(name))
    return readOsv(sample(name))
  })

  test('are valid OSV for any imported advisory with later changes', () => {
    const property = fc.property(
      fc.constantFrom(...records),
      advisory,
      ({ draft, record, updateTime }, later) => {
        const { artifactName, artifactType } = draft
        const events = [...draft.events, ...later.events]
        const revised = create(AdvisorySchema, { ...later, artifactName, artifactType, events })
        assertValid(isOsv, writeOsv(revised, { format: 'osv', record }, updateTime))
      },
    )
    fc.assert(property, { numRuns: 500 })
  })

  test('are valid OpenVEX for any advisories', () => {
    const advisories = fc.uniqueArray(advisory, {
      selector: ({ advisoryId }) => advisoryId,
      minLength: 1,
      maxLength: 4,
    })
    const property = fc.property(advisories, (list) => assertValid(isOpenVex, writeOpenVex(list, head)))
    fc.assert(property, { numRuns: 500 })
  })

  test('in OpenVEX can be imported, and are valid when exported again', () => {
    const property = fc.property(advisory, (generated) => {
      for (const { draft } of readRecord(writeOpenVex([generated], head), 'file.json', 0)) {
        assert.deepEqual(violationsOf(AdvisorySchema, draft), [])
        assertValid(isOpenVex, writeOpenVex([draft], head))
      }
    })
    fc.assert(property, { numRuns: 500 })
  })
})

describe('the JSON schemas of the tests', () => {
  test('reject invalid documents', () => {
    const good = sample('go')
    const ranges = [{ type: 'ECOSYSTEM', events: [{ introduced: '0', fixed: '1' }] }]
    const invalidRecords: object[] = [
      { ...good, id: undefined },
      { ...good, id: 'XYZ-1' },
      { ...good, modified: '2024-01-01T00:00:00+01:00' },
      { ...good, unknown: 1 },
      { ...good, severity: [{ type: 'CVSS_V3', score: '9.8' }] },
      { ...good, affected: [{ ranges }] },
      { ...good, affected: [{ package: { ecosystem: 'pypi', name: 'a' } }] },
      { ...good, affected: [{ ranges: [{ type: 'ECOSYSTEM', events: [{ fixed: '1' }] }] }] },
    ]
    for (const record of invalidRecords)
      assert.equal(isOsv(JSON.parse(JSON.stringify(record))), false, JSON.stringify(record))
    const vex = sample('openvex')
    const [statement] = vex.statements
    const invalidDocuments: object[] = [
      { ...vex, statements: [] },
      { ...vex, version: '1' },
      { ...vex, statements: [{ ...statement, status: 'affected' }] },
      { ...vex, statements: [{ ...statement, status: 'not_affected' }] },
      { ...vex, statements: [{ ...statement, status: 'unknown' }] },
    ]
    for (const document of invalidDocuments) assert.equal(isOpenVex(document), false)
  })
})
