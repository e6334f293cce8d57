import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { digestOf } from '../../../crypto/digest.ts'
import { headlessSignedInPage } from '../../../pages/sign-in/headless.ts'
import type { SignIn } from '../../../wire/caller.ts'
import { issuedSubject } from '../../tokens/issued-subject.ts'
import { mintToken } from '../../tokens/mint.ts'
import { expiredSignIn, plainMessage } from '../error-response.ts'
import { signInIdOf } from '../expiring-states.ts'
import { encryptForCode, storeHeadlessSession } from '../headless-sessions.ts'
import type { PageEvent } from '../page-log.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { publishedClient } from '../provider/clients.ts'
import { notRegistered } from '../sign-in/interaction.ts'
import type { ClientRequest } from './client-request.ts'
import { openRequest } from './client-request.ts'
import type { PublishedDependencies } from './dependencies.ts'
import { redirectWith } from './redirect.ts'
import { issueTokens } from './tokens.ts'

/** Finishes the sign-in of a published client. oidc-provider has sent the browser here with an authorization code. */
export async function finishPublished(deps: PublishedDependencies, page: PageRequest): Promise<PageResponse> {
  const { query } = page
  const clientRequest = openRequest(deps, query.get('state') ?? '', page)
  const { headlessCode, redirect } = clientRequest
  try {
    const signIn = await redeemCode(deps, query, clientRequest)
    if (headlessCode !== '') return await storeForProgram(deps, page, headlessCode, signIn)
    const { token, refreshToken } = await issueTokens(deps, clientRequest, signIn)
    deps.pageLog.add(page, issueOf(issuedSubject(token), signIn))
    const result = { token, ...(refreshToken && { refresh_token: refreshToken }) }
    return { location: redirectWith(redirect, result) }
  } catch (error) {
    if (!(error instanceof StatusError) || headlessCode !== '') throw error
    const result = { error: plainMessage(error), status_code: String(error.http) }
    return { location: redirectWith(redirect, result) }
  }
}

/** Redeems the code here, without a request to the token endpoint, and returns the sign-in. */
async function redeemCode(
  { provider }: PublishedDependencies,
  query: URLSearchParams,
  { verifier }: ClientRequest,
): Promise<SignIn> {
  const error = query.get('error')
  if (error !== null) {
    const status = error === notRegistered ? Code.NOT_FOUND : Code.PERMISSION_DENIED
    throw new StatusError(status, query.get('error_description') ?? error)
  }
  const code = await provider().AuthorizationCode.find(query.get('code') ?? '')
  const isOfThisSignIn = code?.clientId === publishedClient && code.codeChallenge === digestOf(verifier)
  if (!code?.accountId || !isOfThisSignIn || !code.isValid) throw expiredSignIn()
  await code.consume().catch(() => {
    throw expiredSignIn()
  })
  // If the time of the sign-in is unknown, 0 is used. The token is then not valid if the person has ever
  // signed out everywhere.
  return {
    ...{ person: code.accountId, signedInAt: code.authTime ?? 0, id: signInIdOf(code.grantId ?? '') },
    ...(code.acr && { provider: code.acr }),
  }
}

/** The token may be one of a workload that the person assumes; then the event is in the organization of that. */
const issueOf = (identity: string, { person, provider }: SignIn): PageEvent => ({
  ...{ method: 'oauth/finish', action: 'issued', identity, details: { client: publishedClient, person } },
  ...(identity === person && { provider }),
})

/** In seconds; short, because the program only exchanges the token for another. */
const headlessTokenLifetime = 15 * 60

/** For a headless sign-in, whose program runs on a machine without a browser: stores an encrypted token, which that program fetches. */
async function storeForProgram(
  deps: PublishedDependencies,
  page: PageRequest,
  headlessCode: string,
  signIn: SignIn,
): Promise<PageResponse> {
  const { store, states, pageLog, authUrl, now, random } = deps
  const expires = Math.floor(now() / 1000) + headlessTokenLifetime
  const { person: identity } = signIn
  const token = await mintToken(deps, { identity, audience: authUrl, signIn, expires })
  const session = encryptForCode(headlessCode, token, random)
  await store.write(function* () {
    yield* storeHeadlessSession(states, headlessCode, session, identity)
    yield* pageLog.record(page, issueOf(identity, signIn))
  })
  return { page: headlessSignedInPage }
}
