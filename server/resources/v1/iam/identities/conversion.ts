// Converts identities between v1 and v2.
import { create } from '@bufbuild/protobuf'
import type { Identity as V1Identity } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentitySchema as V1IdentitySchema } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'

/** The update mask of v2 for a v1 update: all fields that a v1 caller can set. */
export const updatePaths = [
  'name',
  'description',
  'claim_match',
  'static_keys',
  'aws_identity',
  'service_principal',
]

export const identityFromV1 = ({ name, description, relationship }: V1Identity, uid = ''): Identity =>
  create(IdentitySchema, { uid, name, description, relationship: relationshipFromV1(relationship) })

function relationshipFromV1(relationship: V1Identity['relationship']) {
  switch (relationship.case) {
    case 'claimMatch': {
      const { iss, sub, aud, claims, claimPatterns } = relationship.value
      return { case: relationship.case, value: { iss, sub, aud, claims, claimPatterns } }
    }
    case 'static': {
      const { issuer, subject, issuerKeys, expiration, audiences } = relationship.value
      const keys = { issuer, subject, issuerKeys, audiences }
      return {
        case: 'staticKeys' as const,
        value: { ...keys, ...(expiration && { expirationTime: expiration }) },
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

export function identityToV1(identity: Identity): V1Identity {
  const { uid, name, description, createTime, updateTime, lastSeenTime, relationship } = identity
  return create(V1IdentitySchema, {
    ...{ id: uid, name, description, relationship: relationshipToV1(relationship) },
    ...(createTime && { createdAt: createTime }),
    ...(updateTime && { updatedAt: updateTime }),
    ...(lastSeenTime && { lastSeen: lastSeenTime }),
  })
}

function relationshipToV1(relationship: Identity['relationship']) {
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
