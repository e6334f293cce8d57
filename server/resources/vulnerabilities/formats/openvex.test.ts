import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  AdvisorySchema,
  AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { violationsOf } from '../../../aip/validate.ts'
import type { Happening } from './imported.ts'
import { approvedEvent, foundByPeople, RecordError } from './imported.ts'
import { readOpenVex, writeOpenVex } from './openvex.ts'

const document = JSON.parse(readFileSync(join(import.meta.dirname, 'samples/openvex.json'), 'utf8'))

describe('an OpenVEX document', () => {
  const imported = readOpenVex(document)
  const about = (type: string, name: string) =>
    imported.find(({ draft }) => draft.artifactType === type && draft.artifactName === name)

  test('becomes an advisory for each vulnerability and product that is a package', () => {
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

  test('tells what happened to a product in several statements', () => {
    const git = about('wolfi', 'git')
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

  test('tells why something is not affected, at the time of the document', () => {
    const thing = about('npm', '@scope/thing')
    const { type } = thing?.draft.events[0] ?? {}
    assert.ok(type?.case === 'falsePositiveDetermination')
    assert.equal(type.value.type, FalsePositive.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH)
    assert.equal(type.value.note, 'It is never called.')
    assert.equal(thing?.createTime, Date.parse('2024-01-08T18:02:03.647-06:00'))
  })

  test('tells which part of a product is affected', () => {
    const image = about('oci', 'image')?.draft
    assert.deepEqual([image?.componentType, image?.componentName], ['debian', 'libssl3'])
  })

  const [statement] = document.statements
  const malformed: [string, object, RegExp][] = [
    ['without an author', { author: undefined }, /^author must be a string$/],
    ['without a time', { timestamp: undefined }, /^timestamp must be a time/],
    ['with statements that are a text', { statements: 'a' }, /^statements must be an array$/],
    [
      'with a status that there is not',
      { statements: [{ ...statement, status: 'fine' }] },
      /^statements\[0\]\.status must be one of /,
    ],
    [
      'with a justification that there is not',
      { statements: [{ ...statement, justification: 'because' }] },
      /^statements\[0\]\.justification must be one of /,
    ],
    [
      'without a vulnerability',
      { statements: [statement, { ...statement, vulnerability: undefined }] },
      /^statements\[1\]\.vulnerability must be an object$/,
    ],
    [
      'with a purl that cannot be read',
      { statements: [{ ...statement, products: [{ '@id': 'pkg:npm/%zz' }] }] },
      /^statements\[0\]\.products\[0\] must have a purl that can be read$/,
    ],
  ]
  for (const [what, change, message] of malformed)
    test(`${what} is refused`, () => {
      assert.throws(
        () => readOpenVex({ ...document, ...change }),
        (error) => error instanceof RecordError && message.test(error.message),
      )
    })
})

describe('advisories as OpenVEX', () => {
  type Statement = { vulnerability: object; products: { '@id': string }[]; status: string }

  function statementsOf(happening: Happening | undefined, aliases: string[] = ['CVE-2024-1']): Statement[] {
    const advisory = create(AdvisorySchema, {
      ...{ advisoryId: 'CGA-2222-3333-4444', artifactName: 'curl', artifactType: 'apk', aliases },
      events: happening ? [approvedEvent('us', 0, happening)] : [],
    })
    const head = { id: 'https://example.com/vex', author: 'us', timestamp: 0, version: 1 }
    return (writeOpenVex([advisory], head) as { statements: Statement[] }).statements
  }

  /** What a statement says, beside what it is about. */
  function said(happening: Happening | undefined): object | undefined {
    const [statement] = statementsOf(happening)
    const {
      vulnerability: _,
      products: __,
      timestamp: ___,
      ...rest
    } = { timestamp: '', ...statement } as Statement & {
      timestamp: string
    }
    return rest
  }

  test('have a statement for each alias, or for their own name', () => {
    assert.deepEqual(
      statementsOf(foundByPeople, ['CVE-1', 'CVE-2', 'CVE-1']).map(({ vulnerability }) => vulnerability),
      [
        { name: 'CVE-1', aliases: ['CGA-2222-3333-4444'] },
        { name: 'CVE-2', aliases: ['CGA-2222-3333-4444'] },
      ],
    )
    assert.deepEqual(statementsOf(foundByPeople, [])[0]?.vulnerability, { name: 'CGA-2222-3333-4444' })
  })

  test('say how things stand', () => {
    assert.deepEqual(said(undefined), { status: 'under_investigation' })
    assert.deepEqual(said(foundByPeople), { status: 'under_investigation' })
    assert.deepEqual(said({ case: 'truePositiveDetermination', value: { note: 'Wait.' } }), {
      ...{ status: 'affected', action_statement: 'Wait.' },
    })
    assert.deepEqual(said({ case: 'fixNotPlanned', value: {} }), {
      ...{ status: 'affected', action_statement: 'A fix is not planned.' },
    })
    assert.deepEqual(said({ case: 'falsePositiveDetermination', value: {} }), {
      ...{ status: 'not_affected', impact_statement: 'The artifact is not affected.' },
    })
    const type = FalsePositive.VULNERABLE_CODE_VERSION_NOT_USED
    assert.deepEqual(said({ case: 'falsePositiveDetermination', value: { type } }), {
      ...{ status: 'not_affected', justification: 'vulnerable_code_not_present' },
    })
  })

  test('name the versions that are free of it', () => {
    const patched: Happening = { case: 'patched', value: { patchedVersions: ['1-r1', '2-r0'] } }
    assert.deepEqual(statementsOf(patched)[0]?.products, [
      { '@id': 'pkg:apk/chainguard/curl@1-r1' },
      { '@id': 'pkg:apk/chainguard/curl@2-r0' },
    ])
    const fixed: Happening = { case: 'fixed', value: { fixedVersion: '3' } }
    assert.deepEqual(statementsOf(fixed)[0]?.products, [{ '@id': 'pkg:apk/chainguard/curl@3' }])
    assert.deepEqual(statementsOf(foundByPeople)[0]?.products, [{ '@id': 'pkg:apk/chainguard/curl' }])
  })
})
