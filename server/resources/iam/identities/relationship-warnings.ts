// Warnings about values that match no caller, nearly every caller, or more callers than they seem to. Published
// configurations contain such values, so they are stored and not refused.

import { hasUnsplitUrl } from '@stemma/api/claims/url-pattern.ts'
import type {
  Identity,
  Identity_AWSIdentity,
  Identity_ClaimMatch,
  Identity_StaticKeys,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { entryPath } from '../../../aip/validate.ts'
import { arnFault } from '../../../claims/arn.ts'
import { readKeySet } from '../../../claims/key-set.ts'
import type { JudgePattern } from '../../../claims/pattern-rule.ts'
import type { Warning } from '../../../wire/warning.ts'

/** The identity must be valid. */
export function relationshipWarnings({ relationship }: Identity, judge: JudgePattern): Warning[] {
  switch (relationship.case) {
    case 'claimMatch':
      return claimWarnings(relationship.value, judge)
    case 'staticKeys':
      return keyWarnings(relationship.value)
    case 'awsIdentity':
      return arnWarnings(relationship.value)
    default:
      return []
  }
}

const claimWarnings = (match: Identity_ClaimMatch, judge: JudgePattern): Warning[] => [
  ...(acceptsEverySubject(match, judge) ? [everySubject] : []),
  ...patternsOf(match)
    .filter(([, pattern]) => hasUnsplitUrl(pattern))
    .map(([field]) => ({ field: `claim_match.${field}`, description: unsplitUrl })),
]

type FieldPattern = [field: string, pattern: string]

/** All patterns except that of the issuer, which must start with a scheme. */
const patternsOf = ({ sub, aud, claimPatterns }: Identity_ClaimMatch): FieldPattern[] => [
  ...(sub.case === 'subjectPattern' ? [['subject_pattern', sub.value] satisfies FieldPattern] : []),
  ...(aud.case === 'audiencePattern' ? [['audience_pattern', aud.value] satisfies FieldPattern] : []),
  ...Object.entries(claimPatterns).map(
    ([name, pattern]): FieldPattern => [entryPath('claim_patterns', name), pattern],
  ),
]

const unsplitUrl =
  'contains :// but does not start with a scheme, so .+ also matches the / after a host; start each alternative (a|b) with the scheme, such as https?://'

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
