// The groups from the organization down to a group, for breadcrumbs.
import { api } from '../api/api.ts'
import { read } from '../api/read.ts'

/** The uids of a group and of all groups above it, from the organization on. */
export const uidsOnPath = (group: string) =>
  group.split('/').map((_, at, segments) => segments.slice(0, at + 1).join('/'))

/** The groups that the person may see on the path of a group. */
export const readPath = (group: string) =>
  read(api.groups.listGroups, { uidp: { ids: uidsOnPath(group) }, pageSize: 200 })
