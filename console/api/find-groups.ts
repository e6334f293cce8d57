// Suggestions for a field in which somebody chooses a group.
import type { Option } from '../ui/suggestions.ts'
import { api } from './api.ts'
import { queries } from './queries.ts'
import { read } from './read.ts'
import { parentOf } from './uids.ts'

const maxOptions = 20

/** Finds groups whose names contain the text: the root, and groups below it. */
export function findGroups(root: string): (text: string) => Promise<Option[]> {
  const list = (uidp: { ids: string[] } | { descendantsOf: string }, nameContains?: string) =>
    queries.query(
      read(api.groups.listGroups, {
        ...{ uidp, orderBy: 'name', pageSize: maxOptions },
        ...(nameContains && { nameContains }),
      }),
    )
  return async (text) => {
    const lists = await Promise.all([
      list({ ids: [root] }, text.trim()),
      list({ descendantsOf: root }, text.trim()),
    ])
    const found = lists.flatMap(({ groups = [] }) => groups).slice(0, maxOptions)
    const ids = [...new Set(found.map(({ uid = '' }) => parentOf(uid)).filter(Boolean))]
    const parents = ids.length > 0 ? await list({ ids }) : {}
    const names = new Map(parents.groups?.map(({ uid, name }) => [uid, name]))
    // Groups of the same name are told apart by the groups that they are in.
    return found.map(({ uid = '', name = '' }) => {
      const above = names.get(parentOf(uid))
      return { value: uid, label: name, detail: above && `in ${above}` }
    })
  }
}
