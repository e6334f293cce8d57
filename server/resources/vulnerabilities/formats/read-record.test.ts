import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readRecord } from './read-record.ts'
import { RecordError } from './record-error.ts'

const sample = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'samples', `${name}.json`), 'utf8'))

const read = (value: unknown) => readRecord(value, 'file.json', 0)

describe('readRecord', () => {
  test('detects the format', () => {
    assert.match(read(sample('ghsa'))[0]?.source ?? '', /^osv:/)
    assert.match(read(sample('openvex'))[0]?.source ?? '', /^openvex:/)
    assert.match(read(sample('secdb'))[0]?.source ?? '', /^secdb:/)
  })

  test('rejects an unknown format and describes the known ones', () => {
    for (const value of [
      null,
      1,
      'a',
      [],
      {},
      { id: 'X-1' },
      { packages: [{}] },
      { '@context': 'https://a.b' },
    ])
      assert.throws(
        () => read(value),
        /an OSV record has id and modified, an OpenVEX document.*and a security database/,
      )
  })

  test('rejects a record that is nested too deeply, in any field', () => {
    const lists = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
    for (const name of ['ghsa', 'openvex', 'secdb']) {
      const record = sample(name)
      // The record itself is a level.
      assert.equal(read({ ...record, x_extra: lists(29) }).length, read(record).length)
      for (const levels of [30, 100_000])
        assert.throws(
          () => read({ ...record, x_extra: lists(levels) }),
          (error) => error instanceof RecordError && /at most 30 levels/.test(error.message),
        )
    }
  })

  test('reads a record with a random change, or throws a RecordError', () => {
    const paths = (value: unknown): (string | number)[][] =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([key, inner]) => [
            [key],
            ...paths(inner).map((path) => [key, ...path]),
          ])
        : []
    const locations = ['ghsa', 'pypi', 'secdb', 'openvex'].flatMap((name) =>
      paths(sample(name)).map((path) => ({ name, path })),
    )
    const property = fc.property(fc.constantFrom(...locations), fc.jsonValue(), ({ name, path }, value) => {
      const record = sample(name)
      const last = path.at(-1) as string
      const parent = path.slice(0, -1).reduce((object, key) => object[key], record)
      parent[last] = value
      try {
        read(record)
      } catch (error) {
        assert.ok(error instanceof RecordError, String(error))
      }
    })
    fc.assert(property, { numRuns: 1000 })
  })
})
