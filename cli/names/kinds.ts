// How resources are named, from the options of their messages.
import type { DescField } from '@bufbuild/protobuf'
import type { ResourceOptions } from '@stemma/api/resource.ts'
import { resourceOptions } from '@stemma/api/resource.ts'
import { findCommand, findResource, resources } from '../contract/commands.ts'

function optionsOf(resource: string): ResourceOptions {
  const message = findResource(resource)?.message
  if (!message) throw new Error(`the contract has no resource ${resource}`)
  return resourceOptions(message)
}

/** The resource that it is created in. */
export function parentOf(resource: string): string {
  const { parent } = optionsOf(resource)
  return resources.find(({ message }) => message?.typeName === parent)?.name ?? 'groups'
}

/** The text between the path of its parent and its name. */
export const separatorOf = (resource: string): string => optionsOf(resource).separator

/** The resource by whose name it is found: an account association has the uid of its group, and is named like it. */
export const namedLike = (resource: string): string =>
  optionsOf(resource).hasUidOfParent ? parentOf(resource) : resource

/** The field that people call it by, as the proto spells it. */
export const nameFieldOf = (resource: string): string => optionsOf(resource).nameField

/** The field of its list request that filters by name, or by several names. Undefined if it has no name. */
export function nameFilterOf(resource: string): DescField | undefined {
  const nameField = nameFieldOf(resource)
  const { fields = [] } = findCommand(resource, 'list')?.method.desc.input ?? {}
  return fields.find(({ name }) => name === nameField || name === `${nameField}s`)
}

export const isNamed = (resource: string): boolean => nameFilterOf(resource) !== undefined

const uid = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/

export const looksLikeUid = (text: string): boolean => uid.test(text)
