// Finds the kind of the resource at which the access of a call is checked. If that resource does not exist, the error
// names its kind.
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
  const [mainKind = method.output] = kinds
  // The name GetAdvisoryOsv contains the kind Advisory. A name without a kind, such as Delete in version 1, means the
  // main kind, which is the first kind that a method of the service returns.
  const nameWithoutVerb = method.name.replace(/^[A-Z][a-z]+/, '')
  const kindsInName = kinds
    .filter(({ name }) => nameWithoutVerb.startsWith(name))
    .sort((a, b) => b.name.length - a.name.length)
  const [kind = mainKind] = kindsInName
  const [field, inner] = scope
  const isParentUid = inner === undefined && field !== undefined && parentFields.has(field.name)
  if (!isParentUid) return kind.typeName
  // GetUpdateStatus names no kind: its `repo_id` is the uid of a Repo, not of the parent of one.
  if (kindsInName.length === 0 && field.name === `${mainKind.name.toLowerCase()}_id`) return mainKind.typeName
  // ListTagHistory lists a part of a Tag, so its parent is the Tag, not the Repo of the Tag.
  if (kindsInName.length > 0 && !/^s?$/.test(nameWithoutVerb.slice(kind.name.length))) return kind.typeName
  // Version 1 does not declare parents. There, the main kind of a service is the parent of its other kinds.
  return kind === mainKind || hasOption(kind, resource) ? resourceOptions(kind).parent : mainKind.typeName
}

const parentFields = new Set(['parent', 'parent_id', 'group', 'repo_id', 'registry_id'])

/** Messages of version 1 have no option `resource`, but every resource among them has a field `id`. */
const isResource = (message: DescMessage) =>
  hasOption(message, resource) || message.fields.some(({ name }) => name === 'id')
