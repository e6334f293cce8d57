// The roles that can be bound in a group: the built-in ones, and those of the groups above it.
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { api } from './api.ts'
import { read } from './read.ts'
import { isInGroup, parentOf } from './uids.ts'

/** The most that the API returns at once. Organizations have few roles of their own. */
const mostRoles = 200

export const readRoles = () => read(api.roles.listRoles, { orderBy: 'name', pageSize: mostRoles })

export const isBuiltIn = ({ uid = '' }: RoleJson) => !uid.includes('/')

/** Built-in roles first, from the one with most capabilities to the one with fewest. */
export function rolesFor(group: string, roles: readonly RoleJson[]): RoleJson[] {
  const size = ({ capabilities = [] }: RoleJson) => capabilities.length
  const builtIn = roles.filter(isBuiltIn).sort((a, b) => size(b) - size(a))
  const own = roles.filter((role) => !isBuiltIn(role) && isInGroup(group, parentOf(role.uid ?? '')))
  return [...builtIn, ...own]
}
