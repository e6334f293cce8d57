// Checks the patterns of an identity in a thread, before the transaction that stores it.
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { aborted } from '../../../aip/errors.ts'
import type { ValueOrPattern } from '../../../claims/pattern.ts'
import type { JudgePattern, PatternKind, PatternToCheck } from '../../../claims/pattern-rule.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Dependencies } from '../../dependencies.ts'
import { readResource } from '../../stored-resource.ts'
import { identities } from './table.ts'

/** No valid identity has this many patterns. A request with more is refused anyway, so the others need no check. */
const maxPatterns = 30

export type CheckedPatterns = {
  /** The verdict on a pattern of the request, or on one that is stored already. */
  judge: JudgePattern
}

/**
 * Compiling patterns is expensive, so the caller is authorized first. An update merges the request with the stored
 * identity, whose patterns are checked as well, because they may be older than a rule that they break.
 */
export async function checkPatterns(
  { store, checks }: Dependencies,
  demand: Demand,
  { identity, updateMask }: { identity?: Identity | undefined; updateMask?: FieldMask | undefined },
  isUpdate = false,
): Promise<CheckedPatterns> {
  const patterns = identity ? patternsOf(identity).slice(0, maxPatterns) : []
  // If the request has no relationship, a mask path into one clears that part of the stored one.
  const hasInnerPath = updateMask?.paths.some((path) => path.includes('.')) ?? false
  const mayKeepStored = isUpdate && (identity?.relationship.case !== undefined || hasInnerPath)
  if (patterns.length > 0 || mayKeepStored) {
    const stored = await store.read(function* () {
      yield* admitToRead(demand)
      return mayKeepStored ? yield* readResource(identities, demand.scope) : undefined
    })
    if (stored) patterns.push(...patternsOf(stored).slice(0, maxPatterns))
  }
  const inOrder = patterns.length > 0 ? await checks.judgePatterns(patterns, demand.caller.identity) : []
  const verdicts = new Map(patterns.map(({ kind, pattern }, at) => [keyOf(kind, pattern), inOrder[at]]))
  return {
    judge(kind, pattern) {
      const verdict = verdicts.get(keyOf(kind, pattern))
      if (verdict) return verdict
      throw aborted('the identity has changed meanwhile; try again') // another caller has added a pattern
    },
  }
}

const keyOf = (kind: PatternKind, pattern: string) => `${kind} ${pattern}`

export function patternsOf({ relationship }: Identity): PatternToCheck[] {
  const patternIn = (kind: PatternKind, { case: field, value = '' }: ValueOrPattern): PatternToCheck[] =>
    field?.endsWith('Pattern') ? [{ kind, pattern: value }] : []
  if (relationship.case === 'awsIdentity') {
    const { awsArn, awsUserId } = relationship.value
    return [...patternIn('other', awsArn), ...patternIn('other', awsUserId)]
  }
  if (relationship.case !== 'claimMatch') return []
  const { iss, sub, aud, claimPatterns } = relationship.value
  return [
    ...patternIn('issuer', iss),
    ...patternIn('other', sub),
    ...patternIn('audience', aud),
    ...Object.values(claimPatterns).map((pattern): PatternToCheck => ({ kind: 'other', pattern })),
  ]
}
