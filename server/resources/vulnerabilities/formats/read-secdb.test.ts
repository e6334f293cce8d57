import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { violationsOf } from '../../../aip/validate.ts'
import { readSecdb } from './read-secdb.ts'
import { RecordError } from './record-error.ts'

const database = JSON.parse(readFileSync(join(import.meta.dirname, 'samples/secdb.json'), 'utf8'))
const time = Date.parse('2024-01-01T00:00:00Z')

describe('readSecdb', () => {
  const imported = new Map(
    readSecdb(database, 'security.json', time).map((advisory) => [advisory.source, advisory]),
  )

  const historyOf = (source: string) =>
    imported
      .get(source)
      ?.draft.events.map(({ type }) => (type.case === 'fixed' ? type.value.fixedVersion : type.case))

  test('returns an advisory for each package and vulnerability', () => {
    assert.deepEqual([...imported.keys()].sort(), [
      'secdb:os:curl:CVE-2023-90005',
      'secdb:os:curl:CVE-2023-90006',
      'secdb:os:curl:CVE-2023-90007',
      'secdb:os:curl:GHSA-cccc-3333-dddd',
      'secdb:os:util-linux:CGA-2345-6789-cfgh',
      'secdb:os:util-linux:CVE-2017-90008',
    ])
    for (const { draft, createTime, updateTime } of imported.values()) {
      assert.deepEqual(violationsOf(AdvisorySchema, draft), [])
      assert.deepEqual([draft.author, draft.artifactType], ['packages.wolfi.dev', 'wolfi'])
      assert.deepEqual([createTime, updateTime], [time, time])
    }
  })

  test('reads the fixed versions', () => {
    assert.deepEqual(historyOf('secdb:os:curl:CVE-2023-90005'), ['8.4.0-r0', '8.5.0-r0'])
  })

  test('reads version 0 as not affected', () => {
    assert.deepEqual(historyOf('secdb:os:curl:CVE-2023-90007'), ['falsePositiveDetermination'])
  })

  test('keeps an advisory id', () => {
    const draft = imported.get('secdb:os:util-linux:CGA-2345-6789-cfgh')?.draft
    assert.deepEqual([draft?.advisoryId, draft?.aliases], ['CGA-2345-6789-cfgh', []])
  })

  test('takes the type of the packages from the host that serves them', () => {
    const typeAt = (urlprefix?: string) =>
      readSecdb({ ...database, urlprefix }, 'a.json', time)[0]?.draft.artifactType
    assert.equal(typeAt('https://dl-cdn.alpinelinux.org/alpine'), 'alpine')
    for (const unknown of ['https://packages.example.com', 'https://notwolfi.dev', 'nowhere', undefined])
      assert.equal(typeAt(unknown), 'apk')
  })

  test('rejects control characters in the name of the repository, which is part of the source', () => {
    for (const field of ['distroversion', 'reponame'])
      assert.throws(
        () => readSecdb({ ...database, [field]: 'a\0b' }, 'a.json', time),
        (error) => error instanceof RecordError && /must not contain/.test(error.message),
      )
  })

  test('includes the branch or the file name in the source', () => {
    const [advisory] = readSecdb({ ...database, distroversion: 'v3.20', reponame: 'main' }, 'main.json', time)
    assert.match(advisory?.source ?? '', /^secdb:v3\.20\/main:curl:/)
    assert.match(
      readSecdb({ packages: database.packages }, 'a.json', time)[0]?.source ?? '',
      /^secdb:a\.json:curl:/,
    )
  })

  const malformed: [string, unknown, RegExp][] = [
    ['without a name', { pkg: {} }, /^packages\[0\]\.pkg\.name must be a string$/],
    ['that is null', null, /^packages\[0\] must be an object$/],
    [
      'with fixes that are a list',
      { pkg: { name: 'a', secfixes: ['1'] } },
      /^packages\[0\]\.pkg\.secfixes must be an object$/,
    ],
    [
      'with a vulnerability id that is a number',
      { pkg: { name: 'a', secfixes: { '1-r0': [1] } } },
      /^packages\[0\]\.pkg\.secfixes\.1-r0\[0\] must be a string$/,
    ],
  ]
  for (const [what, item, message] of malformed)
    test(`rejects a package ${what}`, () => {
      assert.throws(
        () => readSecdb({ packages: [item] }, 'a.json', time),
        (error) => error instanceof RecordError && message.test(error.message),
      )
    })
})
