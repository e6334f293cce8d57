// Reads the options of a resource's message: how the resource is named and shown, and what its parent is.
import type { DescMessage } from '@bufbuild/protobuf'
import { getOption } from '@bufbuild/protobuf'
import type { Column } from './gen/platform/common/resource_pb.ts'
import { resource } from './gen/platform/common/resource_pb.ts'

export type ResourceOptions = {
  columns: Column[]
  /** The full name of the parent's message. */
  parent: string
  /** The text between the path of the parent and the name of the resource. */
  separator: string
  /** The field that contains the name, in proto spelling. */
  nameField: string
  /** Whether the uid of the resource is that of its parent. If so, a parent has at most one resource of this kind. */
  hasUidOfParent: boolean
  /** The start of the types of its events, such as `api.iam.group`; empty if it has none. */
  eventType: string
}

const groupType = 'platform.iam.v2beta1.Group'

export function resourceOptions(message: DescMessage): ResourceOptions {
  const { columns, parent, separator, nameField, hasUidOfParent, eventType } = getOption(message, resource)
  return {
    columns,
    parent: parent || groupType,
    separator: separator || '/',
    nameField: nameField || 'name',
    hasUidOfParent,
    eventType,
  }
}
