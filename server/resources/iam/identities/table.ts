import { create } from '@bufbuild/protobuf'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema, RelationshipType } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import {
  RoleBindingIdentitySchema,
  RoleBindingSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { userUid } from '../../../aip/uid.ts'
import { fieldAsBytes, fieldAsJson, messageField } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'

const inBinding = messageField(RoleBindingSchema, 'identity')

const bindingIdentity = (identity: Identity) => {
  const { uid, name, description, email } = identity
  return create(RoleBindingIdentitySchema, {
    ...{ uid, name, description, ...issuerAndSubjectOf(identity) },
    ...(email === undefined ? {} : { email }),
  })
}

/** The issuer and subject of the identity's tokens; empty where a pattern or another claim decides. */
function issuerAndSubjectOf({ relationship }: Identity): { issuer: string; subject: string } {
  switch (relationship.case) {
    case 'claimMatch': {
      const { iss, sub } = relationship.value
      return {
        issuer: iss.case === 'issuer' ? iss.value : '',
        subject: sub.case === 'subject' ? sub.value : '',
      }
    }
    case 'staticKeys':
      return relationship.value
    default:
      return { issuer: '', subject: '' }
  }
}

const relationshipTypes = {
  claimMatch: RelationshipType.CLAIM_MATCH,
  staticKeys: RelationshipType.STATIC,
  awsIdentity: RelationshipType.AWS_IDENTITY,
  servicePrincipal: RelationshipType.SERVICE_PRINCIPAL,
}

export const identities = kindOf(IdentitySchema, 'identities', {
  columns: {
    relationship_type: ({ relationship }) =>
      relationship.case ? relationshipTypes[relationship.case] : RelationshipType.UNSPECIFIED,
    binding_json: (identity) => fieldAsJson(inBinding, bindingIdentity(identity)),
    binding_bytes: (identity) => fieldAsBytes(inBinding, bindingIdentity(identity)),
    /** A hash of the issuer and subject of its tokens; empty if either is not fixed. */
    known_by(identity) {
      const { issuer, subject } = issuerAndSubjectOf(identity)
      return issuer === '' || subject === '' ? '' : userUid(issuer, subject)
    },
  },
  shownAs: [RoleBindingIdentitySchema],
})
