import { invalidField } from '../../../aip/errors.ts'
import { isUid } from '../../../aip/uid.ts'
import { isLiveAt } from '../../../store/expiry.ts'
import { principalsOf } from '../../../store/external-groups.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { SignIn } from '../../../wire/caller.ts'
import { putSignInRecord } from '../../sign-in-records.ts'
import { mintToken, tokenLifetimeSeconds } from '../../tokens/mint.ts'
import { requestedLimits, requireFewScopes } from '../../tokens/token-limits.ts'
import type { PageRequest } from '../page-request.ts'
import { publishedClient } from '../provider/clients.ts'
import { clientOf } from '../provider/record-sign-ins.ts'
import type { ClientRequest } from './client-request.ts'
import type { PublishedDependencies } from './dependencies.ts'

/** The tokens for a published client, after a person has signed in. */
export async function issueTokens(
  deps: PublishedDependencies,
  { identity: requested, audiences, scopes, wantsRefreshToken }: ClientRequest,
  browserSignIn: SignIn,
  page: PageRequest,
): Promise<{ token: string; refreshToken: string | undefined }> {
  const { store, exchange, refreshTokens, authUrl, baseUrl } = deps
  const { person: identity } = browserSignIn
  // Finding the group of a scope may take a query.
  requireFewScopes('scope', scopes)
  const groups = await Promise.all(scopes.map((scope) => findGroup(deps, scope, identity)))
  const limits = requestedLimits({ scopes: groups, cap: [] }, () => true)
  // A refresh token has no limits, and is issued only for the person's own identity.
  const isOwnIdentity = requested === '' || requested === identity
  const hasRefreshToken = wantsRefreshToken && isOwnIdentity && groups.length === 0
  // An access token that is issued with a refresh token belongs to the new sign-in that the refresh token starts, not
  // to that of the browser. It therefore stays valid when the browser's session ends, and stops working when the
  // refresh token is revoked.
  const signIn = hasRefreshToken ? refreshTokens.start(browserSignIn) : browserSignIn
  const ownToken = await mintToken(deps, { identity, audience: authUrl, signIn })
  const { token } = await exchange(ownToken, {
    ...{ identity: requested, identityProvider: '' },
    audiences,
    limits,
  })
  const refresh = hasRefreshToken ? await refreshTokens.issue(signIn, audiences[0] ?? baseUrl) : undefined
  await store.write(() => addToSessionList(deps, signIn, page, refresh?.expiry))
  return { token, refreshToken: refresh?.token }
}

/** Adds a sign-in to the person's list of sessions. By default it expires with its access token. */
export function* addToSessionList(
  { now }: Pick<PublishedDependencies, 'now'>,
  { id, person }: SignIn,
  page: PageRequest,
  expireTime = now() + tokenLifetimeSeconds * 1000,
): Work<void> {
  const time = now()
  yield* putSignInRecord({
    ...{ id, identity: person, isBrowser: false, client: publishedClient, ...clientOf(page) },
    ...{ createTime: time, useTime: time, expireTime },
  })
}

/** `scope` is the uid of a group, or its name if the person has a role in only one group of that name. */
async function findGroup(
  { store, now }: PublishedDependencies,
  scope: string,
  identity: string,
): Promise<string> {
  if (isUid(scope)) return scope
  if (!/^[^\p{C}]{1,255}$/u.test(scope)) throw unknownScope()
  const time = now()
  const rows = await store.query(sql`select distinct g.uid
    from role_bindings b join groups g on g.uid = b.parent
    where b.identity in ${principalsOf([identity], time)} and ${isLiveAt(time, 'b')}
    and g.name = ${scope} limit 2`)
  const [group, other] = rows
  if (!group || other) throw unknownScope()
  return group[0] as string
}

const unknownScope = () =>
  invalidField(
    'scope',
    'must be the uid of a group, or the name of exactly one group in which you have a role',
  )
