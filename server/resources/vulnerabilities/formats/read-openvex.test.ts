import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  AdvisorySchema,
  AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { violationsOf } from '../../../aip/validate.ts'
import { readOpenVex } from './read-openvex.ts'
import { RecordError } from './record-error.ts'

const document = JSON.parse(readFileSync(join(import.meta.dirname, 'samples/openvex.json'), 'utf8'))

describe('readOpenVex', () => {
  const imported = readOpenVex(document)
  const findAdvisory = (type: string, name: string) =>
    imported.find(({ draft }) => draft.artifactType === type && draft.artifactName === name)

  test('returns an advisory for each vulnerability and product that is a package', () => {
    assert.deepEqual(
      imported.map(({ source }) => source.replace(document['@id'], 'doc')),
      [
        'openvex:doc:CVE-2023-90009:wolfi/git',
        'openvex:doc:CVE-2023-90009:maven/org.example:core',
        'openvex:doc:CVE-2023-90010:npm/@scope/thing',
        'openvex:doc:CVE-2023-90011:oci/image:debian/libssl3',
      ],
    )
    for (const { draft } of imported) assert.deepEqual(violationsOf(AdvisorySchema, draft), [])
  })

  test('reads several statements about a product as events', () => {
    const git = findAdvisory('wolfi', 'git')
    assert.deepEqual(
      git?.draft.events.map(({ type }) => type.case),
      ['detection', 'fixed'],
    )
    const { type } = git.draft.events[1] ?? {}
    assert.ok(type?.case === 'fixed')
    assert.deepEqual([type.value.fixedVersion, type.value.note], ['2.38.1-r1', 'Taken from upstream.'])
    assert.deepEqual(git.draft.aliases, ['CVE-2023-90009', 'GHSA-eeee-4444-ffff'])
    assert.deepEqual(
      [git.createTime, git.updateTime],
      [Date.parse('2024-01-02T00:00:00Z'), Date.parse('2024-01-04T00:00:00Z')],
    )
  })

  test('reads why a product is not affected, and uses the time of the document if the statement has none', () => {
    const thing = findAdvisory('npm', '@scope/thing')
    const { type } = thing?.draft.events[0] ?? {}
    assert.ok(type?.case === 'falsePositiveDetermination')
    assert.equal(type.value.type, FalsePositive.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH)
    assert.equal(type.value.note, 'It is never called.')
    assert.equal(thing?.createTime, Date.parse('2024-01-08T18:02:03.647-06:00'))
  })

  test('reads the affected component of a product', () => {
    const image = findAdvisory('oci', 'image')?.draft
    assert.deepEqual([image?.componentType, image?.componentName], ['debian', 'libssl3'])
  })

  test('bounds the total length of the records, which contain a copy of the statement for each product', () => {
    const read = (count: number) =>
      readOpenVex({
        ...document,
        statements: [
          {
            vulnerability: { name: 'CVE-2026-1' },
            products: Array.from({ length: count }, (_, at) => ({ '@id': `pkg:npm/package-${at}` })),
            status: 'under_investigation',
            status_notes: 'x'.repeat(1024 * 1024),
          },
        ],
      })
    assert.equal(read(60).length, 60)
    assert.throws(
      () => read(70),
      (error) => error instanceof RecordError && /name too many products/.test(error.message),
    )
  })

  const [statement] = document.statements
  const malformed: [string, object, RegExp][] = [
    ['without an author', { author: undefined }, /^author must be a string$/],
    ['without a time', { timestamp: undefined }, /^timestamp must be a time/],
    ['with statements that are a string', { statements: 'a' }, /^statements must be an array$/],
    [
      'with an unknown status',
      { statements: [{ ...statement, status: 'fine' }] },
      /^statements\[0\]\.status must be one of /,
    ],
    [
      'with an unknown justification',
      { statements: [{ ...statement, justification: 'because' }] },
      /^statements\[0\]\.justification must be one of /,
    ],
    [
      'without a vulnerability',
      { statements: [statement, { ...statement, vulnerability: undefined }] },
      /^statements\[1\]\.vulnerability must be an object$/,
    ],
    [
      'with an invalid purl',
      { statements: [{ ...statement, products: [{ '@id': 'pkg:npm/%zz' }] }] },
      /^statements\[0\]\.products\[0\] must have a valid purl$/,
    ],
  ]
  for (const [what, change, message] of malformed)
    test(`rejects a document ${what}`, () => {
      assert.throws(
        () => readOpenVex({ ...document, ...change }),
        (error) => error instanceof RecordError && message.test(error.message),
      )
    })
})
