// An attacker with a stolen session first changes who owns the organization. Such changes need a
// recent sign-in, if the caller has signed in with the console or with the command line (`stemma`).
// Published clients are exempt, because they keep sessions for 30 days and cannot ask their users
// to sign in again in the middle of a run. Also exempt are workloads, tokens of the operator, and
// people who have exchanged a token of another issuer.
import { builtInRole } from '../policy/built-in-roles.ts'
import { requireFreshSignIn } from '../policy/fresh-sign-in.ts'
import { isLiveAt } from '../store/expiry.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { Caller } from '../wire/caller.ts'
import type { Dependencies } from './dependencies.ts'

type OwnershipDependencies = Pick<Dependencies, 'settings' | 'now'>

/**
 * The client ids of published clients, which cannot sign a person in again: `published` signs in
 * with the browser, `auth0` with the device flow.
 */
const exemptClients: readonly unknown[] = ['published', 'auth0']

/** For a change of ownership. */
export function* requireFreshSignInForOwnership(
  { settings, now }: OwnershipDependencies,
  caller: Caller,
): Work<void> {
  const { signIn } = caller
  if (!signIn || signIn.id === '') return
  const row = yield* first(sql`select client from sign_ins where id = ${signIn.id}`)
  // A sign-in that has an id but no record is not exempt.
  if (!exemptClients.includes(row?.[0])) requireFreshSignIn(caller, settings.freshSignInMs, now())
}

/** For a change of who has one of these roles. Checks nothing if none of them is `owner`. */
export function* requireFreshSignInForRole(
  deps: OwnershipDependencies,
  caller: Caller,
  ...roles: readonly (string | undefined)[]
): Work<void> {
  if (roles.includes(builtInRole('owner').uid)) yield* requireFreshSignInForOwnership(deps, caller)
}

/** For the deletion of the caller's account, which removes their role bindings. Checks nothing if none is for `owner`. */
export function* requireFreshSignInForOwnBindings(deps: OwnershipDependencies, caller: Caller): Work<void> {
  const row = yield* first(sql`select uid from role_bindings where identity = ${caller.identity}
    and role = ${builtInRole('owner').uid} and ${isLiveAt(deps.now())} limit 1`)
  if (row) yield* requireFreshSignInForOwnership(deps, caller)
}

/**
 * For a change of an identity provider or of its SCIM token, which can change who is in the external groups of the
 * provider. Checks nothing if none of these groups is mapped to `owner`.
 */
export function* requireFreshSignInForMappedRoles(
  deps: OwnershipDependencies,
  caller: Caller,
  provider: string,
): Work<void> {
  const row = yield* first(sql`select b.role from external_group_role_mappings m
    join role_bindings b on b.uid = m.binding
    where m.parent = ${provider} and b.role = ${builtInRole('owner').uid} limit 1`)
  if (row) yield* requireFreshSignInForOwnership(deps, caller)
}
