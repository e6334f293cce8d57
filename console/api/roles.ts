// The roles that can be bound in a group: the built-in ones, and those of the group and of the groups above it.
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { api } from './api.ts'
import type { Read } from './read.ts'
import { isInGroup, parentOf, uidsOnPath } from './uids.ts'

/** The most that the API returns at once. Groups have few roles of their own. */
const maxRoles = 200

/**
 * The built-in roles, and those of a group, of the groups above it and of the groups below it.
 * `hasMore`: there are further roles, which are not returned. The roles of each group on the path
 * are requested separately, so that the many roles of other groups cannot displace the roles that
 * can be bound in the group.
 */
export function readRoles(group: string): Read<{ roles: RoleJson[]; hasMore: boolean }> {
  return {
    queryKey: ['roles', 'of', group],
    queryFn: async ({ signal }) => {
      const regions = [
        { inRoot: true } as const,
        ...uidsOnPath(group).map((childrenOf) => ({ childrenOf })),
        { descendantsOf: group },
      ]
      const lists = await Promise.all(
        regions.map((uidp) => api.roles.listRoles({ uidp, orderBy: 'name', pageSize: maxRoles }, { signal })),
      )
      // The roles of the group itself are in two lists.
      const byUid = new Map(lists.flatMap(({ roles = [] }) => roles.map((role) => [role.uid, role])))
      return {
        roles: [...byUid.values()].sort((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1)),
        hasMore: lists.some(({ nextPageToken }) => !!nextPageToken),
      }
    },
  }
}

export const isBuiltIn = ({ uid = '' }: RoleJson) => !uid.includes('/')

/** The roles that can be bound in a group. */
export function rolesFor(group: string, roles: readonly RoleJson[]): RoleJson[] {
  return inOrder(roles.filter((role) => isBuiltIn(role) || isInGroup(group, parentOf(role.uid ?? ''))))
}

/** The roles that can be bound in a group or in a group below it. */
export function rolesForSubtree(group: string, roles: readonly RoleJson[]): RoleJson[] {
  const groupOf = (role: RoleJson) => parentOf(role.uid ?? '')
  return inOrder(
    roles.filter(
      (role) => isBuiltIn(role) || isInGroup(group, groupOf(role)) || isInGroup(groupOf(role), group),
    ),
  )
}

/** Built-in roles first, from the one with most capabilities to the one with fewest. */
const inOrder = (roles: readonly RoleJson[]) => [
  ...roles.filter(isBuiltIn).sort((a, b) => sizeOf(b) - sizeOf(a)),
  ...roles.filter((role) => !isBuiltIn(role)),
]

const sizeOf = ({ capabilities = [] }: RoleJson) => capabilities.length

/** The options of a field for a role. The current role is among them even if the person may not list it. */
export function roleOptions(roles: readonly RoleJson[], current = '', currentName = 'hidden') {
  const isListed = current === '' || roles.some(({ uid }) => uid === current)
  const shown = isListed ? roles : [{ uid: current, name: currentName }, ...roles]
  return shown.map(({ uid = '', name = '' }) => ({ value: uid, label: name }))
}
