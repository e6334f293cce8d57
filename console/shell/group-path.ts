// The groups from the organization down to a group, for breadcrumbs.
import { api } from '../api/api.ts'
import { read } from '../api/read.ts'
import { uidsOnPath } from '../api/uids.ts'

/** The groups that the person may see on the path of a group. */
export const readPath = (group: string) =>
  read(api.groups.listGroups, { uidp: { ids: uidsOnPath(group) }, pageSize: 200 })
