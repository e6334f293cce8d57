// The names of capabilities, for the pages about roles and access.
import { capabilityNames } from '@stemma/api/gen/capabilities/capability-names.ts'

/** Converts the value in the JSON of a role, such as `CAP_IAM_GROUPS_LIST`, to `groups.list`. */
export const capabilityName = (inJson: string) => capabilityNames[inJson] ?? inJson

const inJsonByName = new Map(Object.entries(capabilityNames).map(([inJson, name]) => [name, inJson]))

export const capabilityInJson = (name: string) => inJsonByName.get(name) ?? name

/** Capability names by what they are about: `groups.list` and `groups.create` are about `groups`. */
export function groupCapabilities(names: readonly string[]): Map<string, string[]> {
  return Map.groupBy([...names].sort(), (name) => name.slice(0, name.lastIndexOf('.')).replaceAll('_', ' '))
}

/** `list` of `groups.list`. */
export const actionOf = (name: string) => name.slice(name.lastIndexOf('.') + 1).replaceAll('_', ' ')
