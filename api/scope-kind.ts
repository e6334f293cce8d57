// The kind of the resource at which the access of a call is checked, for errors that say what does not exist.
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf'
import { hasOption } from '@bufbuild/protobuf'
import { resource } from './gen/platform/common/resource_pb.ts'
import { resourceOptions } from './resource.ts'

/**
 * Returns the full name of the kind's message, such as `platform.iam.v2beta1.Group`. `scope` is the path of fields from
 * the request to the uid.
 */
export function scopeKindOf(method: DescMethod, scope: readonly DescField[]): string {
  const kinds = method.parent.methods.map(({ output }) => output).filter(isResource)
  const [main = method.output] = kinds
  // GetAdvisoryOsv is named after an Advisory. A name without a kind, such as Delete in version 1, means the main kind.
  const object = method.name.replace(/^[A-Z][a-z]+/, '')
  const kindsInName = kinds
    .filter(({ name }) => object.startsWith(name))
    .sort((a, b) => b.name.length - a.name.length)
  const [kind = main] = kindsInName
  const [field, inner] = scope
  const isParentUid = inner === undefined && field !== undefined && parentFields.has(field.name)
  if (!isParentUid) return kind.typeName
  // ListTagHistory lists a part of a Tag, so its parent is the Tag and not the Repo that contains it.
  if (kindsInName.length > 0 && !/^s?$/.test(object.slice(kind.name.length))) return kind.typeName
  // Version 1 does not declare parents. There, the main kind of a service is the parent of its other kinds.
  return kind === main || hasOption(kind, resource) ? resourceOptions(kind).parent : main.typeName
}

const parentFields = new Set(['parent', 'parent_id', 'group', 'repo_id'])

/** Messages of version 1 have no option `resource`, but those of resources have an `id`. */
const isResource = (message: DescMessage) =>
  hasOption(message, resource) || message.fields.some(({ name }) => name === 'id')
