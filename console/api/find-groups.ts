// Suggestions for a field in which somebody chooses a group.
import type { Option } from '../ui/combobox.tsx'
import { api } from './api.ts'
import { queries } from './queries.ts'
import { read } from './read.ts'

const maxOptions = 20

/** The group itself and the groups below it whose names contain the text. */
export function findGroups(root: string): (text: string) => Promise<Option[]> {
  return async (text) => {
    const wanted = text.trim()
    const [own, { groups = [] }] = await Promise.all([
      queries.query(read(api.groups.getGroup, { uid: root })),
      queries.query(
        read(api.groups.listGroups, {
          ...{ uidp: { descendantsOf: root }, orderBy: 'name', pageSize: maxOptions },
          ...(wanted && { nameContains: wanted }),
        }),
      ),
    ])
    const isOwnFound = own.name?.includes(wanted.toLowerCase())
    return [...(isOwnFound ? [own] : []), ...groups].map(({ uid = '', name = '', description }) => ({
      ...{ value: uid, label: name, detail: description },
    }))
  }
}
