// Reads from the options of messages how resources are named.
import type { DescField } from '@bufbuild/protobuf'
import type { ResourceOptions } from '@stemma/api/resource.ts'
import { resourceOptions } from '@stemma/api/resource.ts'
import { findCommand, findResource, resources } from '../contract/commands.ts'

function optionsOf(resource: string): ResourceOptions {
  const message = findResource(resource)?.message
  if (!message) throw new Error(`the contract has no resource ${resource}`)
  return resourceOptions(message)
}

/** The resource in which this resource is created. */
export function parentOf(resource: string): string {
  const { parent } = optionsOf(resource)
  return resources.find(({ message }) => message?.typeName === parent)?.name ?? 'groups'
}

/** The text between the path of the parent and the name of the resource. */
export const separatorOf = (resource: string): string => optionsOf(resource).separator

/**
 * The resource whose names users type for this resource: `groups` for account associations, which have the uids of
 * groups; otherwise the resource itself.
 */
export const namedResourceFor = (resource: string): string =>
  optionsOf(resource).hasUidOfParent ? parentOf(resource) : resource

/** The field that contains the name, in proto spelling. */
export const nameFieldOf = (resource: string): string => optionsOf(resource).nameField

/** The field of the list request that filters by name or by several names. Undefined if resources have no names. */
export function nameFilterOf(resource: string): DescField | undefined {
  const nameField = nameFieldOf(resource)
  const { fields = [] } = findCommand(resource, 'list')?.method.desc.input ?? {}
  return fields.find(({ name }) => name === nameField || name === `${nameField}s`)
}

export const isNamed = (resource: string): boolean => nameFilterOf(resource) !== undefined

const uidPattern = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/

export const looksLikeUid = (text: string): boolean => uidPattern.test(text)
