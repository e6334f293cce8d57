// v1 lists have separate request fields to filter by id and parent; v2 lists have only the field `uidp`.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { UIDPFilter, UIDPFilterSchema } from '@stemma/api/gen/platform/common/uidp_pb.ts'
import type { FieldRename } from './error-fields.ts'

type Filter = MessageInitShape<typeof UIDPFilterSchema>

export type V1Filter = {
  /** Only the resource with this uid. */
  id?: string
  /** Only resources directly in this group; `/` for those at root level. */
  parent?: string
}

/** The v2 filter for the resources that match `uidp`, `id` and `parent`. */
export function uidpFilter(uidp: UIDPFilter | undefined, { id = '', parent = '' }: V1Filter): Filter {
  const { ancestorsOf = '', descendantsOf = '', childrenOf = '', inRoot = false, ids = [] } = uidp ?? {}
  const filter = { ancestorsOf, descendantsOf, childrenOf, inRoot, ids }
  if (id !== '') {
    if (ids.length > 0 && !ids.includes(id)) return { ids: [id], ...matchNothing(anyUid) }
    filter.ids = [id]
  }
  if (parent === '/') filter.inRoot = true
  else if (parent !== '') {
    if (childrenOf !== '' && childrenOf !== parent) return matchNothing(parent)
    filter.childrenOf = parent
  }
  return filter
}

/** A filter that matches nothing, because no resource is both at root level and in a group. */
const matchNothing = (group: string) => ({ inRoot: true, childrenOf: group })

const anyUid = '0'.repeat(40)

/**
 * Renames `uidp` fields in v2 errors to these v1 fields. If a name is empty, the field keeps its
 * name, because its value is from the `uidp` of the v1 request.
 */
export const uidpFieldRenames = (idName: string, parentName = ''): FieldRename[] => [
  ...(idName === '' ? [] : [[/^uidp\.ids\[0\]$/, idName] as const]),
  ...(parentName === '' ? [] : [[/^uidp\.children_of$/, parentName] as const]),
]
