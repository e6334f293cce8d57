// Capabilities by number, dotted name and bit, read from the contract.
import { getOption } from '@bufbuild/protobuf'
import type { BuiltInRole, Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { CapabilitySchema, info } from '@stemma/api/gen/capabilities/capability_pb.ts'

export type CapabilityInfo = {
  number: Capability
  name: string
  /** The position in the bit set that the row of a role contains (bits.ts). */
  bit: number
  internalOnly: boolean
  /** The smallest built-in roles that contain the capability. Larger roles include these (built-in-roles.ts). */
  roles: readonly BuiltInRole[]
}

const capabilities: CapabilityInfo[] = CapabilitySchema.values
  .filter(({ number }) => number !== 0)
  .map((value) => {
    const { name, bit, internalOnly, roles } = getOption(value, info)
    const number = value.number as Capability // the descriptor types it as a plain number
    return { number, name, bit, internalOnly, roles }
  })

const byNumber = new Map<number, CapabilityInfo>(
  capabilities.map((capability) => [capability.number, capability]),
)
const byBit = new Map(capabilities.map((capability) => [capability.bit, capability]))
const byName = new Map(capabilities.map((capability) => [capability.name, capability]))

export const capabilityOf = (number: number) => byNumber.get(number)
export const capabilityNamed = (name: string) => byName.get(name)
export const nameOfBit = (bit: number) => byBit.get(bit)?.name ?? `bit ${bit}`
export const nameOf = (number: number) => byNumber.get(number)?.name ?? `capability ${number}`
export const allCapabilities: readonly CapabilityInfo[] = capabilities
