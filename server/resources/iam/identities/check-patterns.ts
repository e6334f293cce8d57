// Checks the patterns of an identity in a thread, before the transaction that stores it.
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { aborted } from '../../../aip/errors.ts'
import type { PatternFaultOf, PatternKind, PatternRule } from '../../../claims/pattern-rule.ts'
import { patternRuleFault } from '../../../claims/pattern-rule.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Dependencies } from '../../dependencies.ts'

/** More than an identity may have. One with more is refused for their number. */
const maxRules = 30

export type CheckedPatterns = {
  /** The fault of a pattern of the request, or of one that was stored already in `current`. */
  faultOf(current?: Identity): PatternFaultOf
}

/** Compiling patterns is expensive, so the caller is authorized before. */
export async function checkPatterns(
  { store, checks }: Dependencies,
  demand: Demand,
  identity: Identity | undefined,
): Promise<CheckedPatterns> {
  const rules = identity ? patternRulesOf(identity).slice(0, maxRules) : []
  const faults = new Map<string, string | undefined>()
  if (rules.length > 0) {
    await store.read(() => admitToRead(demand))
    const found = await checks.patternFaults(rules, demand.caller.identity)
    for (const [at, { kind, pattern }] of rules.entries()) faults.set(keyOf(kind, pattern), found[at])
  }
  return {
    faultOf: (current) => {
      const stored = new Set(
        current && patternRulesOf(current).map(({ kind, pattern }) => keyOf(kind, pattern)),
      )
      return (kind, pattern) => {
        const key = keyOf(kind, pattern)
        if (faults.has(key)) return faults.get(key)
        // A stored pattern was checked before, so it is not expensive. Another caller may have added one meanwhile.
        if (stored.has(key)) return patternRuleFault(kind, pattern)
        throw aborted('the identity has changed meanwhile; try again')
      }
    },
  }
}

const keyOf = (kind: PatternKind, pattern: string) => `${kind} ${pattern}`

type Field = { case: string | undefined; value?: string | undefined }

export function patternRulesOf({ relationship }: Identity): PatternRule[] {
  const rule = (kind: PatternKind, { case: field, value = '' }: Field): PatternRule[] =>
    field?.endsWith('Pattern') ? [{ kind, pattern: value }] : []
  if (relationship.case === 'awsIdentity') {
    const { awsArn, awsUserId } = relationship.value
    return [...rule('other', awsArn), ...rule('other', awsUserId)]
  }
  if (relationship.case !== 'claimMatch') return []
  const { iss, sub, aud, claimPatterns } = relationship.value
  return [
    ...rule('issuer', iss),
    ...rule('other', sub),
    ...rule('audience', aud),
    ...Object.values(claimPatterns).map((pattern): PatternRule => ({ kind: 'other', pattern })),
  ]
}
