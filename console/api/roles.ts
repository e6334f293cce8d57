// The roles that can be bound in a group: the built-in ones, and those of the group and of the groups above it.
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { api } from './api.ts'
import type { Read } from './read.ts'
import { isInGroup, parentOf } from './uids.ts'

/** The most that the API returns at once. Organizations have few roles of their own. */
const maxRoles = 200

/**
 * The built-in roles and those of a group's organization. `hasMore`: the organization has further
 * roles, which are not returned.
 */
export function readRoles(group: string): Read<{ roles: RoleJson[]; hasMore: boolean }> {
  const [organization = ''] = group.split('/')
  const list = (uidp: { inRoot: true } | { descendantsOf: string }, signal: AbortSignal) =>
    api.roles.listRoles({ uidp, orderBy: 'name', pageSize: maxRoles }, { signal })
  return {
    queryKey: ['roles', 'of', organization],
    queryFn: async ({ signal }) => {
      const [builtIn, own] = await Promise.all([
        list({ inRoot: true }, signal),
        list({ descendantsOf: organization }, signal),
      ])
      return { roles: [...(builtIn.roles ?? []), ...(own.roles ?? [])], hasMore: !!own.nextPageToken }
    },
  }
}

export const isBuiltIn = ({ uid = '' }: RoleJson) => !uid.includes('/')

/** The roles that can be bound in a group. */
export function rolesFor(group: string, roles: readonly RoleJson[]): RoleJson[] {
  return inOrder(roles.filter((role) => isBuiltIn(role) || isInGroup(group, parentOf(role.uid ?? ''))))
}

/** The roles that can be bound in a group or in a group below it. */
export function rolesInOrBelow(group: string, roles: readonly RoleJson[]): RoleJson[] {
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
