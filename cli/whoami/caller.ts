// Reads everything that `stemma whoami` prints.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { Code, StemmaError } from '@stemma/api'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { commandOf } from '../contract/commands.ts'
import { groupPaths } from '../names/group-paths.ts'
import { listPages } from '../resources/list.ts'
import type { SignIn } from './token-claims.ts'
import { claimsOf } from './token-claims.ts'

/** A group. `path` is absent if the caller may not see it. */
export type Place = { uid: string; path?: string }

export type Caller = {
  server: string
  identity: { uid: string; name?: string; email?: string; type: 'person' | 'workload' }
  organizations: Place[]
  signIn: SignIn
  token: { expireTime: string; audience: string[]; groups?: Place[]; capabilities?: string[] }
  roles: HeldRole[]
}

/** A role in a group. If the token is limited, `role` is absent and `capabilities` is set. */
export type HeldRole = {
  role?: string
  capabilities?: string[]
  group: Place
  expireTime?: string
  /** Id of the external group through which the caller has the role. */
  externalGroup?: string
}

/** The response of `Auth.Validate` in JSON. */
type WhoAmI = {
  subject: string
  email?: string
  audience?: string[]
  expiry: string
  profile?: { name?: string }
  capabilities?: { group: { id: string }; capabilities?: string[] }[]
}

/** A row of `AccessService.ListReach` in JSON. */
type Reach = {
  role: { name: string }
  group: { uid: string }
  expireTime?: string
  externalGroup?: { externalGroupId: string }
}

export async function readCaller(connection: Connection, server: string, token: string): Promise<Caller> {
  const me = (await connection.call(Auth.method.validate, {})) as WhoAmI
  const { signIn, scopes, capabilities } = claimsOf(token)
  const roles = scopes || capabilities ? remainingCapabilities(me) : await heldRoles(connection)
  const groups = roles.map(({ group }) => group.uid)
  const uidsInOrganizations = isWorkload(me.subject) ? [...groups, me.subject] : groups
  const organizations = [...new Set(uidsInOrganizations.map((uid) => uid.split('/')[0] ?? ''))]
  const paths = await groupPaths(connection, [...organizations, ...groups, ...(scopes ?? [])])
  const placeOf = (uid: string): Place => {
    const path = paths.get(uid)
    return { uid, ...(path !== undefined && { path }) }
  }
  return {
    server,
    identity: await identityOf(connection, me),
    organizations: organizations.map(placeOf),
    signIn,
    token: {
      ...{ expireTime: me.expiry, audience: me.audience ?? [] },
      ...(scopes && { groups: scopes.map(placeOf) }),
      ...(capabilities && { capabilities }),
    },
    roles: roles.map((role) => ({ ...role, group: placeOf(role.group.uid) })),
  }
}

const remainingCapabilities = ({ capabilities = [] }: WhoAmI): HeldRole[] =>
  capabilities.map(({ group, capabilities: names = [] }) => ({
    capabilities: names,
    group: { uid: group.id },
  }))

async function heldRoles(connection: Connection): Promise<HeldRole[]> {
  const roles: HeldRole[] = []
  // The contract says that the rows have this type.
  for await (const { rows } of listPages(connection, commandOf('access', 'list-reach'), {}))
    for (const { role, group, expireTime, externalGroup } of rows as unknown as Reach[])
      roles.push({
        ...{ role: role.name, group: { uid: group.uid } },
        ...(expireTime !== undefined && { expireTime }),
        ...(externalGroup && { externalGroup: externalGroup.externalGroupId }),
      })
  return roles
}

/** People are in no group, so their uid has a single segment. */
const isWorkload = (uid: string) => uid.includes('/')

async function identityOf(
  connection: Connection,
  { subject, email, profile }: WhoAmI,
): Promise<Caller['identity']> {
  const name = profile?.name || (await nameOf(connection, subject))
  return {
    uid: subject,
    ...(name && { name }),
    ...(email !== undefined && { email }),
    type: isWorkload(subject) ? 'workload' : 'person',
  }
}

/** A workload may lack the capability to read its own identity. Then its name is left out. */
async function nameOf(connection: Connection, uid: string): Promise<string> {
  const get = commandOf('identities', 'get').method.desc
  const { name = '' } = await connection.call(get, { uid }).catch((error: unknown): JsonObject => {
    if (error instanceof StemmaError && error.code === Code.PERMISSION_DENIED) return {}
    throw error
  })
  return String(name)
}
