// Reads everything that `stemma whoami` prints.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { Code, StemmaError } from '@stemma/api'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { commandOf } from '../contract/commands.ts'
import { groupPaths } from '../names/group-paths.ts'
import type { SignIn } from './token-claims.ts'
import { claimsOf } from './token-claims.ts'

/** A group with its path, or with its uid only if the caller may not see the group. */
export type Place = { uid: string; path?: string }

export type Caller = {
  server: string
  identity: { uid: string; name?: string; email?: string; type: 'person' | 'workload' }
  organizations: Place[]
  signIn: SignIn
  token: { expireTime: string; audience: string[]; groups?: Place[]; capabilities?: string[] }
  /** If the token is limited, the server lists the remaining capabilities instead of roles. */
  roles: { role?: string; capabilities?: string[]; group: Place }[]
}

/** The response of `Auth.Validate` in JSON. */
type WhoAmI = {
  subject: string
  email?: string
  audience?: string[]
  expiry: string
  profile?: { name?: string }
  capabilities?: { group: { id: string }; role?: { name: string }; capabilities?: string[] }[]
}

export async function readCaller(connection: Connection, server: string, token: string): Promise<Caller> {
  const me = (await connection.call(Auth.method.validate, {})) as WhoAmI
  const { signIn, scopes, capabilities } = claimsOf(token)
  const held = me.capabilities ?? []
  const groups = held.map(({ group }) => group.id)
  const inside = isWorkload(me.subject) ? [...groups, me.subject] : groups
  const organizations = [...new Set(inside.map((uid) => uid.split('/')[0] ?? ''))]
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
    roles: held.map(({ group, role, capabilities: names }) => ({
      ...(role ? { role: role.name } : { capabilities: names ?? [] }),
      group: placeOf(group.id),
    })),
  }
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
