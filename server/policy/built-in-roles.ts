// The built-in roles, derived from the contract: each capability names the smallest roles that contain it, and larger
// roles include smaller ones. The uids of the roles are the same on every server.
import { createHash } from 'node:crypto'
import type { DescEnumValue } from '@bufbuild/protobuf'
import { getOption, hasOption } from '@bufbuild/protobuf'
import { BuiltInRoleSchema, role as roleOption } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { allCapabilities } from './capabilities.ts'

export type BuiltInRole = { uid: string; name: string; description: string; capabilities: readonly string[] }

export const builtInRoles: readonly BuiltInRole[] = BuiltInRoleSchema.values
  .filter((value) => hasOption(value, roleOption))
  .map(roleOf)

export const builtInRole = (name: string): BuiltInRole => {
  const role = builtInRoles.find((candidate) => candidate.name === name)
  if (!role) throw new Error(`there is no built-in role ${name}`)
  return role
}

function roleOf(value: DescEnumValue): BuiltInRole {
  const { uid, name, description } = getOption(value, roleOption)
  const included = withIncluded(value.number)
  const contained = allCapabilities.filter(({ roles }) => roles.some((role) => included.has(role)))
  return {
    uid: uid || uidOf(name),
    name,
    description,
    capabilities: contained.map((capability) => capability.name),
  }
}

/** The numbers of a role and of all roles that it includes, directly or through others. */
function withIncluded(number: number): Set<number> {
  const value = BuiltInRoleSchema.values.find((candidate) => candidate.number === number)
  const includes = value ? getOption(value, roleOption).includes : []
  return new Set([number, ...includes.flatMap((included) => [...withIncluded(included)])])
}

function uidOf(name: string): string {
  return createHash('sha256').update(`stemma built-in role ${name}`).digest('hex').slice(0, 40)
}
