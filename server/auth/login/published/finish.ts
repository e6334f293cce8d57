import { StatusError } from '../../../aip/errors.ts'
import { headlessSignedInPage } from '../../../pages/sign-in/headless.ts'
import type { SignIn } from '../../../wire/caller.ts'
import { issuedSubject } from '../../tokens/issued-subject.ts'
import { mintToken } from '../../tokens/mint.ts'
import { plainMessage } from '../error-response.ts'
import { encryptForCode, storeHeadlessSession } from '../headless-sessions.ts'
import type { PageEvent } from '../page-log.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { publishedClient } from '../provider/clients.ts'
import { redeemCode } from '../redeem-code.ts'
import { openRequest } from './client-request.ts'
import type { PublishedDependencies } from './dependencies.ts'
import { redirectWith } from './redirect.ts'
import { addToSessionList, issueTokens } from './tokens.ts'

/** Finishes the sign-in of a published client. oidc-provider has sent the browser here with an authorization code. */
export async function finishPublished(deps: PublishedDependencies, page: PageRequest): Promise<PageResponse> {
  const { query } = page
  const clientRequest = openRequest(deps, query.get('state') ?? '', page)
  const { headlessCode, redirect } = clientRequest
  try {
    const { verifier } = clientRequest
    const { signIn } = await redeemCode(deps.provider(), query, { client: publishedClient, verifier })
    if (headlessCode !== '') return await storeForProgram(deps, page, headlessCode, signIn)
    const { token, refreshToken } = await issueTokens(deps, clientRequest, signIn, page)
    deps.pageLog.add(page, issuedEvent(issuedSubject(token), signIn))
    const result = { token, ...(refreshToken && { refresh_token: refreshToken }) }
    return { location: redirectWith(redirect, result) }
  } catch (error) {
    if (!(error instanceof StatusError) || headlessCode !== '') throw error
    const result = { error: plainMessage(error), status_code: String(error.http) }
    return { location: redirectWith(redirect, result) }
  }
}

/**
 * An event with a `provider` is in the group of the provider. If the person assumes a workload,
 * `provider` is left out, so that the event is in the group of the workload.
 */
const issuedEvent = (identity: string, { person, provider }: SignIn): PageEvent => ({
  ...{ method: 'oauth/finish', action: 'issued', identity, details: { client: publishedClient, person } },
  ...(identity === person && { provider }),
})

/** In seconds; short, because the program only exchanges the token for another. */
const headlessTokenLifetime = 15 * 60

/**
 * Finishes a headless sign-in: stores an encrypted token, which a program on a machine without a
 * browser fetches.
 */
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
    yield* pageLog.record(page, issuedEvent(identity, signIn))
    yield* addToSessionList(deps, signIn, page)
  })
  return { page: headlessSignedInPage }
}
