import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  AdvisorySchema,
  AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { EventType } from './events.ts'
import { approvedEvent, manualDetection } from './events.ts'
import { writeOpenVex } from './write-openvex.ts'

describe('writeOpenVex', () => {
  type Statement = { vulnerability: object; products: { '@id': string }[]; status: string }

  function statementsOf(type: EventType | undefined, aliases: string[] = ['CVE-2024-1']): Statement[] {
    const advisory = create(AdvisorySchema, {
      ...{ advisoryId: 'CGA-2222-3333-4444', artifactName: 'curl', artifactType: 'apk', aliases },
      events: type ? [approvedEvent('us', 0, type)] : [],
    })
    const head = { id: 'https://example.com/vex', author: 'us', timestamp: 0, version: 1 }
    return (writeOpenVex([advisory], head) as { statements: Statement[] }).statements
  }

  /** The statement without vulnerability, products and time. */
  function contentOf(type: EventType | undefined): object | undefined {
    const [statement] = statementsOf(type)
    const {
      vulnerability: _,
      products: __,
      timestamp: ___,
      ...content
    } = { timestamp: '', ...statement } as Statement & {
      timestamp: string
    }
    return content
  }

  test('returns a statement for each alias, or for the advisory id if there are no aliases', () => {
    assert.deepEqual(
      statementsOf(manualDetection, ['CVE-1', 'CVE-2', 'CVE-1']).map(({ vulnerability }) => vulnerability),
      [
        { name: 'CVE-1', aliases: ['CGA-2222-3333-4444'] },
        { name: 'CVE-2', aliases: ['CGA-2222-3333-4444'] },
      ],
    )
    assert.deepEqual(statementsOf(manualDetection, [])[0]?.vulnerability, { name: 'CGA-2222-3333-4444' })
  })

  test('returns the status of the latest event', () => {
    assert.deepEqual(contentOf(undefined), { status: 'under_investigation' })
    assert.deepEqual(contentOf(manualDetection), { status: 'under_investigation' })
    assert.deepEqual(contentOf({ case: 'truePositiveDetermination', value: { note: 'Wait.' } }), {
      ...{ status: 'affected', action_statement: 'Wait.' },
    })
    assert.deepEqual(contentOf({ case: 'fixNotPlanned', value: {} }), {
      ...{ status: 'affected', action_statement: 'A fix is not planned.' },
    })
    assert.deepEqual(contentOf({ case: 'falsePositiveDetermination', value: {} }), {
      ...{ status: 'not_affected', impact_statement: 'The artifact is not affected.' },
    })
    const type = FalsePositive.VULNERABLE_CODE_VERSION_NOT_USED
    assert.deepEqual(contentOf({ case: 'falsePositiveDetermination', value: { type } }), {
      ...{ status: 'not_affected', justification: 'vulnerable_code_not_present' },
    })
  })

  test('lists the fixed versions as products', () => {
    const patched: EventType = { case: 'patched', value: { patchedVersions: ['1-r1', '2-r0'] } }
    assert.deepEqual(statementsOf(patched)[0]?.products, [
      { '@id': 'pkg:apk/chainguard/curl@1-r1' },
      { '@id': 'pkg:apk/chainguard/curl@2-r0' },
    ])
    const fixed: EventType = { case: 'fixed', value: { fixedVersion: '3' } }
    assert.deepEqual(statementsOf(fixed)[0]?.products, [{ '@id': 'pkg:apk/chainguard/curl@3' }])
    assert.deepEqual(statementsOf(manualDetection)[0]?.products, [{ '@id': 'pkg:apk/chainguard/curl' }])
  })
})
