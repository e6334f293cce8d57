// Identities of v1 made into those of v2, and the other way round.
import { create } from '@bufbuild/protobuf'
import type { Identity as OldIdentity } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentitySchema as OldIdentitySchema } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'

/** What callers set, of v2: all but what v1 does not know of. */
export const settable = [
  'name',
  'description',
  'claim_match',
  'static_keys',
  'aws_identity',
  'service_principal',
]

export const identityOf = ({ name, description, relationship }: OldIdentity, uid = ''): Identity =>
  create(IdentitySchema, { uid, name, description, relationship: relationshipOf(relationship) })

function relationshipOf(old: OldIdentity['relationship']) {
  switch (old.case) {
    case 'claimMatch': {
      const { iss, sub, aud, claims, claimPatterns } = old.value
      return { case: old.case, value: { iss, sub, aud, claims, claimPatterns } }
    }
    case 'static': {
      const { issuer, subject, issuerKeys, expiration, audiences } = old.value
      const keys = { issuer, subject, issuerKeys, audiences }
      return {
        case: 'staticKeys' as const,
        value: { ...keys, ...(expiration && { expirationTime: expiration }) },
      }
    }
    case 'awsIdentity': {
      const { awsAccount, awsArn, awsUserId } = old.value
      return { case: old.case, value: { awsAccount, awsArn, awsUserId } }
    }
    default:
      return old
  }
}

export function oldIdentityOf(identity: Identity): OldIdentity {
  const { uid, name, description, createTime, updateTime, lastSeenTime, relationship } = identity
  return create(OldIdentitySchema, {
    ...{ id: uid, name, description, relationship: oldRelationshipOf(relationship) },
    ...(createTime && { createdAt: createTime }),
    ...(updateTime && { updatedAt: updateTime }),
    ...(lastSeenTime && { lastSeen: lastSeenTime }),
  })
}

function oldRelationshipOf(relationship: Identity['relationship']) {
  switch (relationship.case) {
    case 'claimMatch': {
      const { iss, sub, aud, claims, claimPatterns } = relationship.value
      return { case: relationship.case, value: { iss, sub, aud, claims, claimPatterns } }
    }
    case 'staticKeys': {
      const { issuer, subject, issuerKeys, expirationTime, audiences } = relationship.value
      const keys = { issuer, subject, issuerKeys, audiences }
      return {
        case: 'static' as const,
        value: { ...keys, ...(expirationTime && { expiration: expirationTime }) },
      }
    }
    case 'awsIdentity': {
      const { awsAccount, awsArn, awsUserId } = relationship.value
      return { case: relationship.case, value: { awsAccount, awsArn, awsUserId } }
    }
    default:
      return relationship
  }
}
