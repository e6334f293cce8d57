import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import {
  AdvisorySchema,
  ReviewState,
  Severity_Type,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { violationsOf } from '../../../aip/validate.ts'
import type { ImportedAdvisory } from './imported-advisory.ts'
import { readOsv } from './read-osv.ts'
import { RecordError } from './record-error.ts'

const sample = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'samples', `${name}.json`), 'utf8'))

/** The only advisory, or that of the named artifact. It must be valid by the rules of the contract. */
function only(imported: ImportedAdvisory[], artifactName?: string): ImportedAdvisory {
  const matching = imported.filter(({ draft }) => !artifactName || draft.artifactName === artifactName)
  assert.equal(matching.length, 1)
  const [advisory] = matching as [ImportedAdvisory] // as asserted
  assert.deepEqual(violationsOf(AdvisorySchema, advisory.draft), [])
  return advisory
}

/** The events as `date type [version]`. */
const history = ({ draft: { events } }: ImportedAdvisory) =>
  events.map(({ type, createTime, reviewState }) => {
    assert.equal(reviewState, ReviewState.APPROVED)
    const time = new Date(createTime ? timestampMs(createTime) : Number.NaN).toISOString().slice(0, 10)
    return [time, type.case, ...(type.case === 'fixed' ? [type.value.fixedVersion] : [])].join(' ')
  })

describe('readOsv', () => {
  test('returns an advisory for each package, with the last fix of each range', () => {
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

  test('reads the fixed versions of a Go module rather than the commits', () => {
    const go = only(readOsv(sample('go')))
    assert.deepEqual([go.draft.artifactType, go.draft.artifactName], ['go', 'example.com/org/parser/v2'])
    assert.deepEqual(history(go), ['2024-05-01 detection', '2024-06-10 fixed 2.4.1'])
  })

  test('reads fixed versions and CVSS vectors of a Python package', () => {
    const pypi = only(readOsv(sample('pypi')))
    assert.deepEqual(history(pypi), ['2022-08-01 detection', '2022-08-30 fixed 3.2.1'])
    assert.deepEqual(
      pypi.draft.severities.map(({ type, score }) => [type, score]),
      [[Severity_Type.CVSS_V2, 'AV:N/AC:L/Au:N/C:P/I:P/A:P']],
    )
  })

  test('reads aliases from the field `upstream`, and each release of a distribution as a package', () => {
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

  test('keeps an advisory id, unless the record is about several packages', () => {
    const id = 'CGA-2345-6789-cfgh'
    const affected = ['a', 'b'].map((name) => ({ package: { ecosystem: 'Chainguard', name } }))
    const record = { id, modified: '2024-01-01T00:00:00Z', affected, upstream: ['CVE-2024-1'] }
    const single = only(readOsv({ ...record, affected: affected.slice(1) }))
    assert.deepEqual([single.draft.advisoryId, single.draft.aliases], [id, ['CVE-2024-1']])
    for (const { draft } of readOsv(record))
      assert.deepEqual([draft.advisoryId, draft.aliases], ['', [id, 'CVE-2024-1']])
  })

  test('returns nothing for a record without packages', () => {
    assert.deepEqual(readOsv({ id: 'CVE-2024-1', modified: '2024-01-01T00:00:00Z' }), [])
    assert.deepEqual(readOsv({ id: 'X-1', modified: '2024-01-01T00:00:00Z', affected: [{ ranges: [] }] }), [])
  })

  test('accepts null lists, unknown fields and ecosystems whose purl type has another name', () => {
    const record = {
      id: 'X-1',
      modified: '2024-01-01T00:00:00Z',
      aliases: null,
      severity: null,
      new_in_2: {},
    }
    const drafts = ['crates.io', 'RubyGems', 'Packagist', 'GitHub Actions', 'Debian:12', 'Brand New:1'].map(
      (ecosystem) => only(readOsv({ ...record, affected: [{ package: { ecosystem, name: 'a' } }] })).draft,
    )
    assert.deepEqual(
      drafts.map(({ artifactType }) => artifactType),
      ['cargo', 'gem', 'composer', 'githubactions', 'debian', 'brand new'],
    )
  })

  test('stores the record as compact JSON, without the entries about other packages', () => {
    const record = sample('pypi')
    const text = JSON.stringify(record)
    assert.equal(only(readOsv(record, `${text}\n`)).record, text)
    assert.equal(only(readOsv(record, JSON.stringify(record, null, 2))).record, text)
    assert.equal(only(readOsv(record)).record, text)
    const { affected } = JSON.parse(only(readOsv(sample('ghsa')), 'tmpl').record)
    assert.deepEqual(affected, sample('ghsa').affected.slice(2))
  })

  test('limits the number of aliases and removes duplicates', () => {
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
    ['with an id of two lines', { ...good, id: 'a\nb' }, /^id must not contain line breaks/],
    [
      'with an id that contains a line separator',
      { ...good, id: 'a\u2028b' },
      /^id must not contain line breaks/,
    ],
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
    ['with aliases that are a string', { ...good, aliases: 'CVE-1' }, /^aliases must be an array$/],
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
      /^affected\[0\]\.package\.name must not contain/,
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
    [
      'with a severity that is a string',
      { ...good, severity: ['HIGH'] },
      /^severity\[0\] must be an object$/,
    ],
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
    test(`rejects a record ${what}`, () => {
      assert.throws(
        () => readOsv(record),
        (error) => error instanceof RecordError && message.test(error.message),
      )
    })

  test('rejects a text that is too large without reading the record', () => {
    assert.throws(() => readOsv({}, 'a'.repeat(2 ** 21 + 1)), RecordError)
  })

  test('rejects a large record with so many packages that its copies would be too large', () => {
    const affected = Array.from({ length: 5000 }, (_, at) => ({
      package: { ecosystem: 'Go', name: `${at}` },
    }))
    const record = { ...good, details: 'a'.repeat(2 ** 20), affected }
    assert.throws(() => readOsv(record, JSON.stringify(record)), /too many for a record of this size/)
  })
})
