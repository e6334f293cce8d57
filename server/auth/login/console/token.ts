import type { SignIn } from '../../../wire/caller.ts'
import { lacksRequiredFactor } from '../../second-factors/requirement.ts'
import { mintToken } from '../../tokens/mint.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { recordConsoleUse } from '../provider/record-sign-ins.ts'
import { requireOwnRequest } from './own-request.ts'
import type { ConsoleDependencies } from './session.ts'
import { findConsoleSession, forgetConsoleSession } from './session.ts'

/** In seconds. Short, because a page keeps the token in memory and can get another one at any time. */
const lifetimeSeconds = 10 * 60

/**
 * Issues an access token for the session of the browser. Without a session the response has no token, but
 * still the status 200: browsers report other statuses as errors, and it is not an error that a visitor is not signed in.
 */
export async function issueConsoleToken(deps: ConsoleDependencies, page: PageRequest): Promise<PageResponse> {
  requireOwnRequest(page)
  const signIn = await findRenewable(deps, page)
  const profile = signIn && (await deps.findPerson(signIn.person))
  if (!signIn || !profile) {
    await forgetConsoleSession(deps, page)
    return { json: {} }
  }
  const { authUrl, baseUrl, store, now } = deps
  const { person } = signIn
  // People can read in the console even if the store accepts no writes, for instance because the disk is full.
  await store.write(() => recordConsoleUse(signIn.id, { page, now: now() })).catch(() => undefined)
  const expires = Math.floor(now() / 1000) + lifetimeSeconds
  // The same claims as in other access tokens of the person (login/published/tokens.ts).
  const act = { iss: authUrl, sub: person, aud: authUrl }
  const { name, email } = profile
  const token = await mintToken(deps, {
    ...{ identity: person, audience: baseUrl, act, signIn, expires },
    ...(email !== undefined && { email }),
  })
  return { json: { token, expiresInSeconds: lifetimeSeconds, person: { uid: person, name, email } } }
}

/** The session of the browser, unless it needs a second factor by now and has not proven one. */
async function findRenewable(deps: ConsoleDependencies, page: PageRequest): Promise<SignIn | undefined> {
  const signIn = (await findConsoleSession(deps, page))?.signIn
  if (!signIn) return undefined
  return (await deps.store.read(() => lacksRequiredFactor(signIn, deps.now()))) ? undefined : signIn
}
