import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { EventType } from './events.ts'
import { approvedEvent } from './events.ts'
import type { ImportedAdvisory } from './imported-advisory.ts'
import type { Affected } from './osv-ranges.ts'
import { readOsv } from './read-osv.ts'
import { writeOsv } from './write-osv.ts'

type OsvRecord = Record<string, unknown> & { modified: string; affected: Affected[] }

const sample = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'samples', `${name}.json`), 'utf8'))

function importSample(name: string, artifactName?: string): ImportedAdvisory {
  const matching = readOsv(sample(name)).filter(
    ({ draft }) => !artifactName || draft.artifactName === artifactName,
  )
  assert.equal(matching.length, 1)
  return matching[0] as ImportedAdvisory // as asserted
}

/** The advisory as an import stores it. */
function storedAdvisory({ draft, createTime, updateTime, withdrawTime }: ImportedAdvisory): Advisory {
  return create(AdvisorySchema, {
    ...draft,
    advisoryId: draft.advisoryId || 'CGA-2222-3333-4444',
    createTime: timestampFromMs(createTime),
    updateTime: timestampFromMs(updateTime),
    ...(withdrawTime !== undefined && { deleteTime: timestampFromMs(withdrawTime) }),
  })
}

/** Exports an imported advisory after people have added events to it. */
function write(imported: ImportedAdvisory, ...added: EventType[]): OsvRecord {
  const advisory = storedAdvisory(imported)
  const time = imported.updateTime + 86_400_000
  advisory.events.push(...added.map((type) => approvedEvent('us', time, type)))
  if (added.length > 0) advisory.updateTime = timestampFromMs(time)
  return writeOsv(advisory, { format: 'osv', record: imported.record }, imported.updateTime) as OsvRecord
}

describe('writeOsv of an imported advisory', () => {
  for (const name of ['ghsa', 'go', 'pypi', 'alpine', 'withdrawn'])
    test(`returns the imported record, with only the entries of the package: ${name}`, () => {
      const record = sample(name)
      for (const imported of readOsv(record)) {
        const packageKey = imported.source.slice(`osv:${record.id}:`.length)
        const affected = record.affected.filter(
          (entry: Affected) => `${entry.package?.ecosystem}/${entry.package?.name}` === packageKey,
        )
        assert.deepEqual(write(imported), { ...record, affected })
      }
    })

  test('sets modified to the time of the last change by people', () => {
    const imported = importSample('go')
    assert.equal(
      write(imported, { case: 'truePositiveDetermination', value: {} }).modified,
      '2024-06-11T12:00:00Z',
    )
  })

  test('omits ranges and versions if the artifact is not affected', () => {
    const { affected } = write(importSample('pypi'), {
      case: 'falsePositiveDetermination',
      value: {},
    })
    assert.equal(affected.length, 1)
    assert.equal(affected[0]?.package?.name, 'Some_Package')
    assert.ok(!('ranges' in affected[0]) && !('versions' in affected[0]))
  })

  test('adds a fix to a range that was imported without events', () => {
    for (const noEvents of [{}, { events: null }]) {
      const record = sample('pypi')
      const [entry] = record.affected
      record.affected = [{ ...entry, ranges: [{ type: 'ECOSYSTEM', ...noEvents }] }]
      const [imported] = readOsv(record)
      assert.deepEqual(write(imported as ImportedAdvisory).affected, record.affected)
      const { affected } = write(imported as ImportedAdvisory, {
        ...{ case: 'fixed', value: { fixedVersion: '9.9' } },
      })
      assert.deepEqual(affected[0]?.ranges, [{ type: 'ECOSYSTEM', events: [{ fixed: '9.9' }] }])
    }
  })

  test('replaces last_affected in a range by a new fix', () => {
    const { affected } = write(importSample('ghsa', 'tmpl'), {
      case: 'fixed',
      value: { fixedVersion: '0.8.2' },
    })
    assert.deepEqual(affected[0]?.ranges, [
      { type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '0.8.2' }] },
    ])
  })

  test('adds a new fix to the known fixes, and removes the fixed version from the affected versions', () => {
    const { affected } = write(importSample('pypi'), {
      case: 'fixed',
      value: { fixedVersion: '3.2.0' },
    })
    assert.deepEqual(affected[0]?.ranges?.[1]?.events, [
      { introduced: '0' },
      { fixed: '3.2.1' },
      { fixed: '3.2.0' },
    ])
    assert.deepEqual(affected[0].versions, ['3.0', '3.1'])
  })

  test('sets withdrawn to the time when the advisory was withdrawn', () => {
    const imported = importSample('go')
    const advisory = storedAdvisory({ ...imported, withdrawTime: Date.parse('2025-01-01T00:00:00Z') })
    const record = writeOsv(advisory, { format: 'osv', record: imported.record }) as Record<string, unknown>
    assert.equal(record.withdrawn, '2025-01-01T00:00:00Z')
  })
})

describe('writeOsv of an advisory that was not imported', () => {
  const advisoryWith = (...types: EventType[]) =>
    create(AdvisorySchema, {
      ...{ advisoryId: 'CGA-2222-3333-4444', author: 'us', artifactName: 'curl', artifactType: 'apk' },
      aliases: ['CVE-2024-1', 'GHSA-aaaa-2222-bbbb', 'CVE-2024-1'],
      createTime: timestampFromMs(Date.parse('2024-01-01T00:00:00Z')),
      updateTime: timestampFromMs(Date.parse('2024-01-02T00:00:00.5Z')),
      events: types.map((type) => approvedEvent('us', 0, type)),
    })

  test('has the aliases in the field upstream, and a range up to the fix', () => {
    assert.deepEqual(writeOsv(advisoryWith({ case: 'fixed', value: { fixedVersion: '8.4.0-r0' } })), {
      schema_version: '1.7.5',
      id: 'CGA-2222-3333-4444',
      modified: '2024-01-02T00:00:00.500Z',
      published: '2024-01-01T00:00:00Z',
      upstream: ['CVE-2024-1', 'GHSA-aaaa-2222-bbbb'],
      affected: [
        {
          package: { ecosystem: 'Chainguard', name: 'curl', purl: 'pkg:apk/chainguard/curl' },
          ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '8.4.0-r0' }] }],
        },
      ],
    })
  })

  const eventsOf = (...types: EventType[]) =>
    (writeOsv(advisoryWith(...types)) as OsvRecord).affected[0]?.ranges?.[0]?.events

  test('has an open range if there is no fix, or if the fix did not work', () => {
    assert.deepEqual(eventsOf(), [{ introduced: '0' }])
    const stillAffected: EventType = { case: 'truePositiveDetermination', value: {} }
    assert.deepEqual(eventsOf({ case: 'fixed', value: { fixedVersion: '1' } }, stillAffected), [
      { introduced: '0' },
    ])
  })

  test('has a range up to the first patched version', () => {
    const patched: EventType = { case: 'patched', value: { patchedVersions: ['1-r2', '1-r3'] } }
    assert.deepEqual(eventsOf(patched), [{ introduced: '0' }, { fixed: '1-r2' }])
  })

  test('is the same after the component was moved', () => {
    const moved: EventType = { case: 'componentLocationChanged', value: { newLocation: '/opt/lib' } }
    const fixed: EventType = { case: 'fixed', value: { fixedVersion: '1' } }
    assert.deepEqual(eventsOf(fixed, moved), eventsOf(fixed))
    assert.equal(eventsOf({ case: 'falsePositiveDetermination', value: {} }, moved), undefined)
  })

  test('has no range if the artifact is not affected', () => {
    assert.equal(eventsOf({ case: 'falsePositiveDetermination', value: {} }), undefined)
  })

  test('puts the artifact into database_specific if its type has no ecosystem', () => {
    const image = create(AdvisorySchema, { ...advisoryWith(), artifactType: 'oci', artifactName: 'nginx' })
    const [entry] = (writeOsv(image) as OsvRecord).affected
    assert.deepEqual(entry, {
      database_specific: { artifact_type: 'oci', artifact_name: 'nginx' },
      ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }] }],
    })
  })
})
