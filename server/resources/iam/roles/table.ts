import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { encodeBits } from '../../../policy/bits.ts'
import { kindOf } from '../../kind.ts'

export const roles = kindOf(
  RoleSchema,
  { name: 'roles', columns: ['bits'], isPlace: false },
  ({ capabilities }) => [encodeBits(capabilities)],
)
