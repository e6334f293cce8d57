// The kinds of resources that can be searched for, by the full name of their message.
import type { DescMessage } from '@bufbuild/protobuf'
import { describeMethods } from '@stemma/api/method.ts'
import type { Kind } from '../../kind.ts'
import type { AnyResource } from '../../resource.ts'

/** A kind of resource, and the capabilities that its list requires. */
export type SearchedKind = { kind: Kind<DescMessage>; listCapabilities: readonly number[] }

export const searchedKinds = (resources: readonly AnyResource[]): ReadonlyMap<string, SearchedKind> =>
  new Map(resources.map((resource) => [resource.kind.desc.typeName, searchedKind(resource)]))

function searchedKind({ kind, service }: AnyResource): SearchedKind {
  const list = describeMethods(service).find(
    ({ desc }) =>
      desc.name.startsWith('List') && desc.output.fields.some(({ message }) => message === kind.desc),
  )
  if (!list?.access) throw new Error(`${service.typeName} has no list`)
  return { kind, listCapabilities: list.access.capabilities }
}
