import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { kindOf } from '../../kind.ts'

export const identities = kindOf(IdentitySchema, { name: 'identities', columns: [], isPlace: false })
