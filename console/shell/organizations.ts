import { api } from '../api/api.ts'
import { read } from '../api/read.ts'

/** The organizations of the person, for the home page, the switcher and the palette. */
export const organizations = read(api.groups.listGroups, {
  uidp: { inRoot: true },
  pageSize: 200,
  orderBy: 'name',
})
