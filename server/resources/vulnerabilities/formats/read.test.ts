import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { RecordError } from './imported.ts'
import { readRecord } from './read.ts'

const sample = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'samples', `${name}.json`), 'utf8'))

const read = (value: unknown) => readRecord(value, 'file.json', 0)

describe('a record', () => {
  test('is read by what it is', () => {
    assert.match(read(sample('ghsa'))[0]?.source ?? '', /^osv:/)
    assert.match(read(sample('openvex'))[0]?.source ?? '', /^openvex:/)
    assert.match(read(sample('secdb'))[0]?.source ?? '', /^secdb:/)
  })

  test('of no known format is refused with what it would take', () => {
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
        /must be of OSV, with id and modified; or of OpenVEX.*or a security database/,
      )
  })

  test('that was tampered with is read or refused, and breaks nothing', () => {
    const paths = (value: unknown): (string | number)[][] =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([key, inner]) => [
            [key],
            ...paths(inner).map((path) => [key, ...path]),
          ])
        : []
    const places = ['ghsa', 'pypi', 'secdb', 'openvex'].flatMap((name) =>
      paths(sample(name)).map((path) => ({ name, path })),
    )
    const property = fc.property(fc.constantFrom(...places), fc.jsonValue(), ({ name, path }, value) => {
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
