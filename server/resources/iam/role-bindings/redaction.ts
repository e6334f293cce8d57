// A role binding contains details of its identity, such as the name and e-mail address of a person, or the id of an
// external group. Callers see these details for their own identity, and in groups where they may list identities;
// otherwise they see only the uid.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import {
  RoleBindingIdentitySchema,
  RoleBindingSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { capabilityOf } from '../../../policy/capabilities.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'
import type { Redaction } from '../../kind.ts'

const bitOf = (capability: Capability) => capabilityOf(capability)?.bit ?? -1
const listIdentities = bitOf(Capability.CAP_IAM_IDENTITY_LIST)
/** The capabilities of calls whose responses contain role bindings. */
const bindingBits = [
  Capability.CAP_IAM_ROLE_BINDINGS_CREATE,
  Capability.CAP_IAM_ROLE_BINDINGS_UPDATE,
  Capability.CAP_IAM_ROLE_BINDINGS_LIST,
].map(bitOf)

export const identityRedaction: Redaction = {
  /** All built-in roles that contain `role_bindings.list` also contain `identity.list`, so this is rarely true. */
  isNeeded: ({ list }) =>
    list.some(({ bits }) => !bits.has(listIdentities) && bindingBits.some((bit) => bits.has(bit))),

  apply(grants: Grants, row: Uint8Array): Uint8Array {
    const binding = fromBinary(RoleBindingSchema, row)
    const uid = binding.identity?.uid ?? ''
    const isVisible =
      uid === grants.caller.identity || holds(grants, [Capability.CAP_IAM_IDENTITY_LIST], binding.uid)
    if (isVisible) return row
    binding.identity = create(RoleBindingIdentitySchema, { uid })
    if (binding.externalGroup) binding.externalGroup.externalGroupId = ''
    return toBinary(RoleBindingSchema, binding)
  },
}
