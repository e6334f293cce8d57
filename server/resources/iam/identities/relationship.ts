// Checks the relationship of an identity (how it is recognised) against the rules that the protos cannot express.
import type { MessageShape } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type {
  Identity,
  Identity_AWSIdentity,
  Identity_ClaimMatch,
  IdentitySchema,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { ServicePrincipal, ServicePrincipalSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { FieldViolation } from '../../../aip/errors.ts'
import { invalidArgument } from '../../../aip/errors.ts'
import { entryPath } from '../../../aip/validate.ts'
import type { IssuerRule } from '../../../claims/issuer.ts'
import { issuerFault } from '../../../claims/issuer.ts'
import { keySetFault } from '../../../claims/key-set.ts'
import { expandedLength } from '../../../claims/pattern.ts'
import type { JudgePattern, PatternKind } from '../../../claims/pattern-rule.ts'
import { judgePattern } from '../../../claims/pattern-rule.ts'

const maxFaults = 20
/** The maximum `expandedLength` of all patterns of an identity together. It bounds the time to match a token. */
const maxPatternSize = 2000

const dayMs = 24 * 60 * 60 * 1000
const maxKeyLifetimeMs = 365 * dayMs

/** Sets the expiration time of static keys if the caller has not. */
export function setExpiry({ relationship }: MessageShape<typeof IdentitySchema>, now: number): void {
  if (relationship.case === 'staticKeys')
    relationship.value.expirationTime ??= timestampFromMs(now + maxKeyLifetimeMs)
}

/** The rules of a server, and the time. */
export type RelationshipRules = { issuerRule: IssuerRule; judge: JudgePattern; now: number }

export function requireValidRelationship(identity: Identity, rules: RelationshipRules): void {
  const [fault, ...others] = relationshipFaults(identity, rules)
  if (fault) throw invalidArgument(fault, ...others)
}

/**
 * The faults of an identity's patterns. A stored pattern has a fault if it is older than a rule
 * that it breaks. It is still matched like any other pattern, but may match more values than its
 * author meant, or none.
 */
export const patternFaultsOf = (identity: Identity): FieldViolation[] =>
  relationshipFaults(identity, {
    issuerRule: { isLoopbackAllowed: false, trusted: [] },
    judge: judgePattern,
    now: 0,
  }).filter(({ field }) => /_patterns?\b/.test(field))

function relationshipFaults({ relationship }: Identity, rules: RelationshipRules): FieldViolation[] {
  const { issuerRule, judge, now } = rules
  const faults: FieldViolation[] = []
  const check: Check = (field, fault, mentions = []) => {
    if (fault !== undefined) faults.push({ field, description: fault, mentions })
  }
  switch (relationship.case) {
    case 'claimMatch':
      checkClaims(relationship.value, rules, (field, ...details) => check(`claim_match.${field}`, ...details))
      break
    case 'staticKeys': {
      const { issuer, issuerKeys, expirationTime, audiences } = relationship.value
      check('static_keys.issuer', issuerFault(issuer, issuerRule))
      check('static_keys.issuer_keys', keySetFault(issuerKeys))
      const expiresMs = expirationTime ? timestampMs(expirationTime) : now
      if (expiresMs <= now || expiresMs > now + maxKeyLifetimeMs)
        check('static_keys.expiration_time', 'must be in the future, at most 365 days from now')
      if (audiences.length > 1) check('static_keys.audiences', 'must contain at most one audience')
      if (audiences.includes('')) check('static_keys.audiences', 'must not contain an empty audience')
      break
    }
    case 'awsIdentity':
      checkAws(relationship.value, judge, (field, ...details) => check(`aws_identity.${field}`, ...details))
      break
    case 'servicePrincipal':
      if (
        relationship.value === ServicePrincipal.UNSPECIFIED ||
        !ServicePrincipalSchema.value[relationship.value]
      )
        check('service_principal', 'must be one of the service principals')
      break
    default:
      check('claim_match', 'is required, or static_keys, aws_identity or service_principal in its place', [
        ...['static_keys', 'aws_identity', 'service_principal'],
      ])
  }
  return faults.slice(0, maxFaults)
}

type Check = (field: string, fault: string | undefined, mentions?: readonly string[]) => void

function checkClaims(
  { iss, sub, aud, claims, claimPatterns }: Identity_ClaimMatch,
  { issuerRule, judge }: RelationshipRules,
  check: Check,
): void {
  const patternFaultOf = (kind: PatternKind, pattern: string) => judge(kind, pattern).fault
  if (iss.case === 'issuer') check('issuer', issuerFault(iss.value, issuerRule))
  else if (iss.case === 'issuerPattern') check('issuer_pattern', patternFaultOf('issuer', iss.value))
  else check('issuer', 'is required, or issuer_pattern in its place', ['issuer_pattern'])
  if (sub.case === 'subject') check('subject', emptyFault(sub.value))
  else if (sub.case === 'subjectPattern') check('subject_pattern', patternFaultOf('other', sub.value))
  else check('subject', 'is required, or subject_pattern in its place', ['subject_pattern'])
  if (aud.case === 'audience') check('audience', emptyFault(aud.value))
  else if (aud.case === 'audiencePattern') check('audience_pattern', patternFaultOf('audience', aud.value))
  for (const name of Object.keys(claims)) check(entryPath('claims', name), claimFault(name))
  const patterns = [
    ...[iss, sub, aud].flatMap(({ case: field, value }) => (field?.endsWith('Pattern') && value) || []),
    ...Object.values(claimPatterns),
  ]
  if (patterns.reduce((sum, pattern) => sum + expandedLength(pattern), 0) > maxPatternSize)
    check(
      'claim_patterns',
      `must have at most ${maxPatternSize} characters together with the other patterns, where a repeat such as a{3} counts as written out (aaa)`,
    )
  for (const [name, pattern] of Object.entries(claimPatterns)) {
    check(entryPath('claim_patterns', name), claimFault(name) ?? patternFaultOf('other', pattern))
  }
}

const emptyFault = (value: string) => (value === '' ? 'must not be empty' : undefined)

/** Claims with a field of their own. */
const claimsWithField = new Set(['iss', 'sub', 'aud'])

function claimFault(name: string): string | undefined {
  if (name === '') return 'must name a claim'
  return claimsWithField.has(name) ? 'has a field of its own: issuer, subject or audience' : undefined
}

function checkAws({ awsArn, awsUserId }: Identity_AWSIdentity, judge: JudgePattern, check: Check): void {
  if (awsArn.case === 'arn') check('arn', emptyFault(awsArn.value))
  else if (awsArn.case === 'arnPattern') check('arn_pattern', judge('other', awsArn.value).fault)
  else check('arn', 'is required, or arn_pattern in its place', ['arn_pattern'])
  if (awsUserId.case === 'userId') check('user_id', emptyFault(awsUserId.value))
  else if (awsUserId.case === 'userIdPattern') check('user_id_pattern', judge('other', awsUserId.value).fault)
  else check('user_id', 'is required, or user_id_pattern in its place', ['user_id_pattern'])
}
