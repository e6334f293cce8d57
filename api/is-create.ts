import type { DescEnumValue, DescMethod } from '@bufbuild/protobuf'
import type { Capability } from './gen/capabilities/capability_pb.ts'
import { CapabilitySchema } from './gen/capabilities/capability_pb.ts'
import { access } from './gen/platform/common/access_pb.ts'
import { bindingsOf } from './http-binding.ts'
import { optionOf } from './option.ts'

/**
 * Whether a method creates something, so that it accepts an idempotency key: a POST that requires a
 * capability whose name ends in `_CREATE`, or has the option `creates`. Other POSTs are sign-in,
 * checks, changes of existing resources such as `RevokeScimToken`, calls of people about their own
 * account, and calls of operators of the server.
 */
export function isCreateMethod(method: DescMethod): boolean {
  const [binding] = bindingsOf(method)
  const needed = optionOf(method, access)
  if (binding?.verb !== 'POST' || !needed || needed.open || needed.operators) return false
  return needed.creates || needed.capabilities.some(isCreateCapability)
}

const isCreateCapability = (capability: Capability) =>
  // Undefined for a capability that this version does not know.
  (CapabilitySchema.value[capability] as DescEnumValue | undefined)?.name.endsWith('_CREATE') ?? false
