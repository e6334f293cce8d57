// The filters of v1 that say which resource, or where it lies, as v2 says it.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { UIDPFilter, UIDPFilterSchema } from '@stemma/api/gen/platform/common/uidp_pb.ts'
import type { Renaming } from './convert.ts'

type Filter = MessageInitShape<typeof UIDPFilterSchema>

export type Place = {
  /** Only the resource with this uid. */
  id?: string
  /** Only what lies directly in this group; `/` for what lies in none. */
  parent?: string
}

/** All of them must hold, as must what `uidp` says already. */
export function placeOf(uidp: UIDPFilter | undefined, { id = '', parent = '' }: Place): Filter {
  const { ancestorsOf = '', descendantsOf = '', childrenOf = '', inRoot = false, ids = [] } = uidp ?? {}
  const wanted = { ancestorsOf, descendantsOf, childrenOf, inRoot, ids }
  if (id !== '') {
    if (ids.length > 0 && !ids.includes(id)) return { ids: [id], inRoot: true, childrenOf: nobody }
    wanted.ids = [id]
  }
  if (parent === '/') wanted.inRoot = true
  else if (parent !== '') {
    if (childrenOf !== '' && childrenOf !== parent) return { inRoot: true, childrenOf: parent }
    wanted.childrenOf = parent
  }
  return wanted
}

/** What lies in a group does not lie at root level, so both together match nothing. */
const nobody = '0'.repeat(40)

/** Faults of such a filter, in the names that the caller gave. */
export const namesOfPlace = (idName: string, parentName = ''): Renaming[] => [
  ...(idName === '' ? [] : [[/^uidp\.ids\[0\]$/, idName] as const]),
  ...(parentName === '' ? [] : [[/^uidp\.children_of$/, parentName] as const]),
]
