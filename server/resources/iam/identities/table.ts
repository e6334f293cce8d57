import { create } from '@bufbuild/protobuf'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema, RelationshipType } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import {
  RoleBindingIdentitySchema,
  RoleBindingSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { rootOf, userUid } from '../../../aip/uid.ts'
import { fieldAsBytes, fieldAsJson, messageField } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'

const bindingField = messageField(RoleBindingSchema, 'identity')

const bindingIdentity = (identity: Identity) => {
  const { uid, name, description, email } = identity
  return create(RoleBindingIdentitySchema, {
    ...{ uid, name, description, ...issuerAndSubjectOf(identity) },
    ...(email === undefined ? {} : { email }),
  })
}

/** The issuer and subject of the identity's tokens. Each is empty if it is a pattern or if the identity has none. */
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

/** The value of the column `pattern_issuer` if the issuer is a pattern. No issuer has this text. */
export const anyIssuer = '~'

/**
 * For an identity that has a pattern for its issuer or subject: its issuer, or `anyIssuer`. Null for other identities:
 * those with a fixed issuer and subject are found by `known_by`.
 */
function patternIssuerOf({ relationship }: Identity): string | null {
  if (relationship.case !== 'claimMatch') return null
  const { iss, sub } = relationship.value
  if (iss.case === 'issuerPattern') return anyIssuer
  return iss.case === 'issuer' && sub.case === 'subjectPattern' ? iss.value : null
}

/**
 * The subject or its pattern can contain the uid of another organization. Tokens of its identities may then match.
 * Returns that uid; null if there is none, or more than one.
 */
function trustedRootOf({ uid, relationship }: Identity): string | null {
  const { value: subject = '' } = relationship.case === 'claimMatch' ? relationship.value.sub : {}
  const [only, ...others] = new Set(subject.match(/[0-9a-f]{40}/g)?.filter((root) => root !== rootOf(uid)))
  return only === undefined || others.length > 0 ? null : only
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
    binding_json: (identity) => fieldAsJson(bindingField, bindingIdentity(identity)),
    binding_bytes: (identity) => fieldAsBytes(bindingField, bindingIdentity(identity)),
    /** A hash of the issuer and subject of its tokens; empty if either is not fixed. */
    known_by(identity) {
      const { issuer, subject } = issuerAndSubjectOf(identity)
      return issuer === '' || subject === '' ? '' : userUid(issuer, subject)
    },
    pull_token: ({ pullToken }) => (pullToken ? 1 : 0),
    pattern_issuer: (identity) => patternIssuerOf(identity),
    trusted_root: (identity) => (patternIssuerOf(identity) === null ? null : trustedRootOf(identity)),
  },
  shownAs: [RoleBindingIdentitySchema],
})
