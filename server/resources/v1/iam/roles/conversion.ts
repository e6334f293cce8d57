// Converts roles between v1, which names capabilities, and v2, which numbers them.
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { Role as V1Role } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { RoleSchema as V1RoleSchema } from '@stemma/api/gen/platform/iam/role_pb.ts'
import type { Role } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { capabilityNamed, nameOf } from '../../../../policy/capabilities.ts'

/** An unknown name becomes UNKNOWN, which v2 rejects after it has authorized the caller. */
export const roleFromV1 = ({ name, description, capabilities }: V1Role) => ({
  ...{ name, description },
  capabilities: capabilities.map((capability) => capabilityNamed(capability)?.number ?? Capability.UNKNOWN),
})

export const roleToV1 = ({
  uid,
  name,
  description,
  capabilities,
}: Pick<Role, 'uid' | 'name' | 'description' | 'capabilities'>): V1Role =>
  create(V1RoleSchema, { id: uid, name, description, capabilities: capabilities.map(nameOf) })
