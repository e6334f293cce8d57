// Roles of v1, which call capabilities by name, made into those of v2, which number them, and the other way round.
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { Role as OldRole } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { RoleSchema as OldRoleSchema } from '@stemma/api/gen/platform/iam/role_pb.ts'
import type { Role } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { capabilityNamed, nameOf } from '../../../../policy/capabilities.ts'

/** A name that is none becomes a number that is none, so that v2 refuses it to those who may ask at all. */
export const roleOf = ({ name, description, capabilities }: OldRole) => ({
  ...{ name, description },
  capabilities: capabilities.map((one) => capabilityNamed(one)?.number ?? Capability.UNKNOWN),
})

export const oldRoleOf = ({
  uid,
  name,
  description,
  capabilities,
}: Pick<Role, 'uid' | 'name' | 'description' | 'capabilities'>): OldRole =>
  create(OldRoleSchema, { id: uid, name, description, capabilities: capabilities.map(nameOf) })
