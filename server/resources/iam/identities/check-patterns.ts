// Checks the patterns of an identity in a thread, before the transaction that stores it.
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { aborted } from '../../../aip/errors.ts'
import type { ValueOrPattern } from '../../../claims/pattern.ts'
import type { JudgePattern, PatternKind, PatternRule } from '../../../claims/pattern-rule.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Dependencies } from '../../dependencies.ts'
import { readResource } from '../../stored-resource.ts'
import { identities } from './table.ts'

/** No valid identity has this many patterns. A request with more is refused anyway, so the others need no check. */
const maxRules = 30

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
  const rules = identity ? patternRulesOf(identity).slice(0, maxRules) : []
  // A path into a relationship clears a part of the stored one if the request has none.
  const hasInnerPath = updateMask?.paths.some((path) => path.includes('.')) ?? false
  const mayKeepStored = isUpdate && (identity?.relationship.case !== undefined || hasInnerPath)
  if (rules.length > 0 || mayKeepStored) {
    const stored = await store.read(function* () {
      yield* admitToRead(demand)
      return mayKeepStored ? yield* readResource(identities, demand.scope) : undefined
    })
    if (stored) rules.push(...patternRulesOf(stored).slice(0, maxRules))
  }
  const inOrder = rules.length > 0 ? await checks.judgePatterns(rules, demand.caller.identity) : []
  const verdicts = new Map(rules.map(({ kind, pattern }, at) => [keyOf(kind, pattern), inOrder[at]]))
  return {
    judge(kind, pattern) {
      const verdict = verdicts.get(keyOf(kind, pattern))
      if (verdict) return verdict
      throw aborted('the identity has changed meanwhile; try again') // another caller has added a pattern
    },
  }
}

const keyOf = (kind: PatternKind, pattern: string) => `${kind} ${pattern}`

export function patternRulesOf({ relationship }: Identity): PatternRule[] {
  const rule = (kind: PatternKind, { case: field, value = '' }: ValueOrPattern): PatternRule[] =>
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
