// Warnings about values that match no caller, or nearly every caller. Published configurations
// contain such values, so they are stored and not refused.
import type {
  Identity,
  Identity_AWSIdentity,
  Identity_ClaimMatch,
  Identity_StaticKeys,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { arnFault } from '../../../claims/arn.ts'
import { readKeySet } from '../../../claims/key-set.ts'
import type { JudgePattern } from '../../../claims/pattern-rule.ts'
import type { Warning } from '../../../wire/warning.ts'

/** The identity must be valid. */
export function relationshipWarnings({ relationship }: Identity, judge: JudgePattern): Warning[] {
  switch (relationship.case) {
    case 'claimMatch':
      return acceptsEverySubject(relationship.value, judge) ? [everySubject] : []
    case 'staticKeys':
      return keyWarnings(relationship.value)
    case 'awsIdentity':
      return arnWarnings(relationship.value)
    default:
      return []
  }
}

const everySubject: Warning = {
  field: 'claim_match.subject_pattern',
  description:
    'matches every subject: everybody who gets a token of this issuer can assume the identity; restrict the subject, or add claims',
}

/** Whether neither the subject nor another claim restricts who can assume the identity. */
const acceptsEverySubject = ({ sub, claims, claimPatterns }: Identity_ClaimMatch, judge: JudgePattern) =>
  sub.case === 'subjectPattern' &&
  Object.keys(claims).length === 0 &&
  [sub.value, ...Object.values(claimPatterns)].every((pattern) => judge('other', pattern).isUnrestricted)

function keyWarnings({ issuerKeys }: Identity_StaticKeys): Warning[] {
  const field = 'static_keys.issuer_keys'
  const { usable, faults } = readKeySet(issuerKeys)
  if (usable.length > 0) return faults.map((fault) => ({ field, description: `${fault}; it is not used` }))
  return [{ field, description: unassumable(faults[0] ?? 'has no keys') }]
}

function arnWarnings({ awsArn, awsAccount }: Identity_AWSIdentity): Warning[] {
  const fault = awsArn.case === 'arn' ? arnFault(awsArn.value, awsAccount) : undefined
  if (fault === undefined) return []
  return [{ field: 'aws_identity.arn', description: unassumable(fault) }]
}

const unassumable = (fault: string) => `${fault}; nobody can assume the identity until this is corrected`
