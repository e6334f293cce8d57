import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisorySchema,
  ReviewState,
  Severity_Type,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { violationsOf } from '../../../aip/validate.ts'
import type { Happening, Imported } from './imported.ts'
import { approvedEvent, RecordError } from './imported.ts'
import { readOsv, writeOsv } from './osv.ts'
import type { Affected } from './osv-ranges.ts'

type Written = Record<string, unknown> & { modified: string; affected: Affected[] }

const sample = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'samples', `${name}.json`), 'utf8'))

/** The one of a package, after the rules of the contract. */
function only(imported: Imported[], artifactName?: string): Imported {
  const found = imported.filter(({ draft }) => !artifactName || draft.artifactName === artifactName)
  assert.equal(found.length, 1)
  const [one] = found as [Imported]
  assert.deepEqual(violationsOf(AdvisorySchema, one.draft), [])
  return one
}

/** What has happened, in short. */
const history = ({ draft: { events } }: Imported) =>
  events.map(({ type, createTime, reviewState }) => {
    assert.equal(reviewState, ReviewState.APPROVED)
    const time = new Date(createTime ? timestampMs(createTime) : Number.NaN).toISOString().slice(0, 10)
    return [time, type.case, ...(type.case === 'fixed' ? [type.value.fixedVersion] : [])].join(' ')
  })

/** As an import keeps it. */
function kept({ draft, createTime, updateTime, withdrawTime }: Imported): Advisory {
  return create(AdvisorySchema, {
    ...draft,
    advisoryId: draft.advisoryId || 'CGA-2222-3333-4444',
    createTime: timestampFromMs(createTime),
    updateTime: timestampFromMs(updateTime),
    ...(withdrawTime !== undefined && { deleteTime: timestampFromMs(withdrawTime) }),
  })
}

function written(imported: Imported, ...later: Happening[]): Written {
  const advisory = kept(imported)
  const time = imported.updateTime + 86_400_000
  advisory.events.push(...later.map((type) => approvedEvent('us', time, type)))
  if (later.length > 0) advisory.updateTime = timestampFromMs(time)
  return writeOsv(advisory, { format: 'osv', record: imported.record }, imported.updateTime) as Written
}

describe('an OSV record', () => {
  test('becomes an advisory for each package, with the last fix of each range', () => {
    const imported = readOsv(sample('ghsa'))
    assert.equal(imported.length, 2)
    const loader = only(imported, '@tmpl/loader')
    assert.equal(loader.source, 'osv:GHSA-7xfp-9c55-5vqj:npm/@tmpl/loader')
    assert.deepEqual(history(loader), [
      '2023-11-02 detection',
      '2024-03-05 fixed 1.9.4',
      '2024-03-05 fixed 2.1.3',
    ])
    assert.deepEqual(loader.draft.aliases, ['GHSA-7xfp-9c55-5vqj', 'CVE-2023-90001'])
    assert.equal(loader.draft.author, 'GHSA')
    assert.equal(loader.draft.artifactType, 'npm')
    assert.equal(loader.draft.advisoryId, '')
    assert.deepEqual(
      loader.draft.severities.map(({ type }) => type),
      [Severity_Type.CVSS_V3, Severity_Type.CVSS_V4],
    )
    assert.equal(loader.createTime, Date.parse('2023-11-02T09:30:00Z'))
    assert.equal(loader.updateTime, Date.parse('2024-03-05T17:20:11.482Z'))
    assert.deepEqual(history(only(imported, 'tmpl')), [
      '2023-11-02 detection',
      '2023-11-02 truePositiveDetermination',
    ])
  })

  test('of Go is about its module, and not about commits', () => {
    const go = only(readOsv(sample('go')))
    assert.deepEqual([go.draft.artifactType, go.draft.artifactName], ['go', 'example.com/org/parser/v2'])
    assert.deepEqual(history(go), ['2024-05-01 detection', '2024-06-10 fixed 2.4.1'])
  })

  test('of Python tells fixes by versions, and severities by vectors', () => {
    const pypi = only(readOsv(sample('pypi')))
    assert.deepEqual(history(pypi), ['2022-08-01 detection', '2022-08-30 fixed 3.2.1'])
    assert.deepEqual(
      pypi.draft.severities.map(({ type, score }) => [type, score]),
      [[Severity_Type.CVSS_V2, 'AV:N/AC:L/Au:N/C:P/I:P/A:P']],
    )
  })

  test('of a distribution has its names from upstream, and a part for each release', () => {
    const imported = readOsv(sample('alpine'))
    assert.deepEqual(
      imported.map(({ source }) => source),
      ['osv:ALPINE-CVE-2023-90004:Alpine:v3.19/openssl', 'osv:ALPINE-CVE-2023-90004:Alpine:v3.20/openssl'],
    )
    for (const { draft } of imported) {
      assert.equal(draft.artifactType, 'alpine')
      assert.deepEqual(draft.aliases, ['ALPINE-CVE-2023-90004', 'CVE-2023-90004'])
    }
  })

  test('of ours keeps its name, unless it is about several packages', () => {
    const id = 'CGA-2345-6789-cfgh'
    const affected = ['a', 'b'].map((name) => ({ package: { ecosystem: 'Chainguard', name } }))
    const record = { id, modified: '2024-01-01T00:00:00Z', affected, upstream: ['CVE-2024-1'] }
    const one = only(readOsv({ ...record, affected: affected.slice(1) }))
    assert.deepEqual([one.draft.advisoryId, one.draft.aliases], [id, ['CVE-2024-1']])
    for (const { draft } of readOsv(record))
      assert.deepEqual([draft.advisoryId, draft.aliases], ['', [id, 'CVE-2024-1']])
  })

  test('without affected packages is passed over', () => {
    assert.deepEqual(readOsv({ id: 'CVE-2024-1', modified: '2024-01-01T00:00:00Z' }), [])
    assert.deepEqual(readOsv({ id: 'X-1', modified: '2024-01-01T00:00:00Z', affected: [{ ranges: [] }] }), [])
  })

  test('takes lists that are null, fields that are unknown, and types that purls name otherwise', () => {
    const record = {
      id: 'X-1',
      modified: '2024-01-01T00:00:00Z',
      aliases: null,
      severity: null,
      new_in_2: {},
    }
    const types = ['crates.io', 'RubyGems', 'Packagist', 'GitHub Actions', 'Debian:12', 'Brand New:1'].map(
      (ecosystem) => only(readOsv({ ...record, affected: [{ package: { ecosystem, name: 'a' } }] })).draft,
    )
    assert.deepEqual(
      types.map(({ artifactType }) => artifactType),
      ['cargo', 'gem', 'composer', 'githubactions', 'debian', 'brand new'],
    )
  })

  test('is kept as the text it came as, if that is compact, and without what is about others', () => {
    const record = sample('pypi')
    const text = JSON.stringify(record)
    assert.equal(only(readOsv(record, `${text}\n`)).record, text)
    assert.equal(only(readOsv(record, JSON.stringify(record, null, 2))).record, text)
    assert.equal(only(readOsv(record)).record, text)
    const { affected } = JSON.parse(only(readOsv(sample('ghsa')), 'tmpl').record)
    assert.deepEqual(affected, sample('ghsa').affected.slice(2))
  })

  test('has no more aliases than an advisory can hold, each once', () => {
    const aliases = Array.from({ length: 300 }, (_, at) => `CVE-2024-${at % 250}`)
    const affected = [{ package: { ecosystem: 'npm', name: 'a' } }]
    const { draft } = only(readOsv({ id: 'X-1', modified: '2024-01-01T00:00:00Z', aliases, affected }))
    assert.equal(new Set(draft.aliases).size, 200)
    assert.equal(draft.aliases.length, 200)
  })

  const good = sample('go')
  const entry = good.affected[0]
  const range = entry.ranges[0]
  const malformed: [string, unknown, RegExp][] = [
    ['that is a list', [], /^the record must be an object$/],
    ['without an id', { ...good, id: undefined }, /^id must be a string$/],
    ['with an id of two lines', { ...good, id: 'a\nb' }, /^id must hold no line breaks/],
    ['without a time of change', { ...good, modified: undefined }, /^modified must be a time/],
    ['with a time that is a number', { ...good, modified: 17 }, /^modified must be a time/],
    [
      'with the 30th of February',
      { ...good, published: '2024-02-30T00:00:00Z' },
      /^published must be a time/,
    ],
    [
      'with a time without a zone',
      { ...good, withdrawn: '2024-02-03T00:00:00' },
      /^withdrawn must be a time/,
    ],
    ['with the year 0', { ...good, modified: '0000-02-03T00:00:00Z' }, /^modified must be a time/],
    ['with aliases that are a text', { ...good, aliases: 'CVE-1' }, /^aliases must be an array$/],
    ['with an alias that is a number', { ...good, aliases: ['CVE-1', 2] }, /^aliases\[1\] must be a string$/],
    ['with an entry that is null', { ...good, affected: [null] }, /^affected\[0\] must be an object$/],
    [
      'with a name that is missing',
      { ...good, affected: [entry, entry, { package: { ecosystem: 'Go' } }] },
      /^affected\[2\]\.package\.name must be a string$/,
    ],
    [
      'with a name that is too long',
      { ...good, affected: [{ package: { ecosystem: 'Go', name: 'a'.repeat(513) } }] },
      /^affected\[0\]\.package\.name must be at most 512 characters long$/,
    ],
    [
      'with a lone surrogate',
      { ...good, affected: [{ package: { ecosystem: 'Go', name: '\ud800' } }] },
      /^affected\[0\]\.package\.name must hold no/,
    ],
    [
      'with ranges that are an object',
      { ...good, affected: [{ ...entry, ranges: {} }] },
      /^affected\[0\]\.ranges must be an array$/,
    ],
    [
      'with a fix that is a number',
      {
        ...good,
        affected: [{ ...entry, ranges: [{ ...range, events: [{ introduced: '0' }, { fixed: 2 }] }] }],
      },
      /^affected\[0\]\.ranges\[0\]\.events\[1\]\.fixed must be a string$/,
    ],
    ['with a severity that is a text', { ...good, severity: ['HIGH'] }, /^severity\[0\] must be an object$/],
    [
      'with too many packages',
      {
        ...good,
        affected: Array.from({ length: 5001 }, (_, at) => ({ package: { ecosystem: 'Go', name: `${at}` } })),
      },
      /^affected must name at most 5000 packages$/,
    ],
    [
      'that is too large',
      { ...good, details: 'a'.repeat(2 ** 21) },
      /^the record must be at most 2097152 bytes$/,
    ],
  ]
  for (const [what, record, message] of malformed)
    test(`${what} is refused`, () => {
      assert.throws(
        () => readOsv(record),
        (error) => error instanceof RecordError && message.test(error.message),
      )
    })

  test('whose text is too large is refused before it is looked at', () => {
    assert.throws(() => readOsv({}, 'a'.repeat(2 ** 21 + 1)), RecordError)
  })

  test('that would be kept far too often is refused', () => {
    const affected = Array.from({ length: 5000 }, (_, at) => ({
      package: { ecosystem: 'Go', name: `${at}` },
    }))
    const record = { ...good, details: 'a'.repeat(2 ** 20), affected }
    assert.throws(() => readOsv(record, JSON.stringify(record)), /too many for a record of this size/)
  })
})

describe('an advisory that was imported', () => {
  for (const name of ['ghsa', 'go', 'pypi', 'alpine', 'withdrawn'])
    test(`is written as it came, with what is said of its package: ${name}`, () => {
      const record = sample(name)
      for (const imported of readOsv(record)) {
        const [, ...id] = imported.source.split(`osv:${record.id}:`)
        const affected = record.affected.filter(
          (entry: Affected) => `${entry.package?.ecosystem}/${entry.package?.name}` === id.join(''),
        )
        assert.deepEqual(written(imported), { ...record, affected })
      }
    })

  test('has the time at which people changed it', () => {
    const imported = only(readOsv(sample('go')))
    assert.equal(
      written(imported, { case: 'truePositiveDetermination', value: {} }).modified,
      '2024-06-11T12:00:00Z',
    )
  })

  test('has no ranges and versions once it is found not to be affected', () => {
    const { affected } = written(only(readOsv(sample('pypi'))), {
      case: 'falsePositiveDetermination',
      value: {},
    })
    assert.equal(affected.length, 1)
    assert.equal(affected[0]?.package?.name, 'Some_Package')
    assert.ok(!('ranges' in affected[0]) && !('versions' in affected[0]))
  })

  test('has a fix that its record did not know, in place of the last affected version', () => {
    const { affected } = written(only(readOsv(sample('ghsa')), 'tmpl'), {
      case: 'fixed',
      value: { fixedVersion: '0.8.2' },
    })
    assert.deepEqual(affected[0]?.ranges, [
      { type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '0.8.2' }] },
    ])
  })

  test('has a fix beside those that its record knew, and does not list it as affected', () => {
    const { affected } = written(only(readOsv(sample('pypi'))), {
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

  test('is withdrawn when we withdraw it', () => {
    const imported = only(readOsv(sample('go')))
    const advisory = kept({ ...imported, withdrawTime: Date.parse('2025-01-01T00:00:00Z') })
    const record = writeOsv(advisory, { format: 'osv', record: imported.record }) as Record<string, unknown>
    assert.equal(record.withdrawn, '2025-01-01T00:00:00Z')
  })
})

describe('an advisory of our own', () => {
  const own = (...happenings: Happening[]) =>
    create(AdvisorySchema, {
      ...{ advisoryId: 'CGA-2222-3333-4444', author: 'us', artifactName: 'curl', artifactType: 'apk' },
      aliases: ['CVE-2024-1', 'GHSA-aaaa-2222-bbbb', 'CVE-2024-1'],
      createTime: timestampFromMs(Date.parse('2024-01-01T00:00:00Z')),
      updateTime: timestampFromMs(Date.parse('2024-01-02T00:00:00.5Z')),
      events: happenings.map((type) => approvedEvent('us', 0, type)),
    })

  test('is written with the names of the vulnerability upstream, and everything before the fix', () => {
    assert.deepEqual(writeOsv(own({ case: 'fixed', value: { fixedVersion: '8.4.0-r0' } })), {
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

  const eventsOf = (...happenings: Happening[]) =>
    (writeOsv(own(...happenings)) as Written).affected[0]?.ranges?.[0]?.events

  test('has an open range while nothing is fixed, or when a fix was found wanting', () => {
    assert.deepEqual(eventsOf(), [{ introduced: '0' }])
    const wanting: Happening = { case: 'truePositiveDetermination', value: {} }
    assert.deepEqual(eventsOf({ case: 'fixed', value: { fixedVersion: '1' } }, wanting), [
      { introduced: '0' },
    ])
  })

  test('ends at the first version that was patched', () => {
    const patched: Happening = { case: 'patched', value: { patchedVersions: ['1-r2', '1-r3'] } }
    assert.deepEqual(eventsOf(patched), [{ introduced: '0' }, { fixed: '1-r2' }])
  })

  test('has no range where it is not affected', () => {
    assert.equal(eventsOf({ case: 'falsePositiveDetermination', value: {} }), undefined)
  })

  test('is about no package where OSV has no word for it', () => {
    const image = create(AdvisorySchema, { ...own(), artifactType: 'oci', artifactName: 'nginx' })
    const [entry] = (writeOsv(image) as Written).affected
    assert.deepEqual(entry, {
      database_specific: { artifact_type: 'oci', artifact_name: 'nginx' },
      ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }] }],
    })
  })
})
