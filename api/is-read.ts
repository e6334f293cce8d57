import type { DescEnumValue, DescMethod } from '@bufbuild/protobuf'
import type { Capability } from './gen/capabilities/capability_pb.ts'
import { CapabilitySchema } from './gen/capabilities/capability_pb.ts'
import { access } from './gen/platform/common/access_pb.ts'
import { bindingsOf } from './http-binding.ts'
import { optionOf } from './option.ts'

/**
 * Whether a method only reads: a GET, or a method that requires capabilities, all of which end with
 * `_LIST`. The latter is sent with POST, because its request can be longer than a URL.
 */
export function isReadMethod(method: DescMethod): boolean {
  if (bindingsOf(method)[0]?.verb === 'GET') return true
  const { open = true, capabilities = [] } = optionOf(method, access) ?? {}
  return !open && capabilities.length > 0 && capabilities.every(isListCapability)
}

const isListCapability = (capability: Capability) =>
  // Undefined for a capability that this version does not know.
  (CapabilitySchema.value[capability] as DescEnumValue | undefined)?.name.endsWith('_LIST') ?? false
