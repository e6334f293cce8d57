// Tests an identity provider by a sign-in that only shows its result, with all details or the exact
// error, and signs nobody in. Errors say what the provider has answered, so only people who may
// change the provider can test it.
import type { IDToken } from 'openid-client'
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { failedTestPage, testedSignInPage } from '../../../pages/tested-sign-in.ts'
import { NoAddressError } from '../../outbound/outbound.ts'
import { isSameBrowser, rememberBrowser } from '../browser.ts'
import { expiredSignIn, plainMessage, sentence } from '../error-response.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { openState } from '../upstream/authorization-state.ts'
import type { UpstreamResult } from '../upstream/finish.ts'
import { finishUpstream } from '../upstream/finish.ts'
import { startUpstream } from '../upstream/start.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { ConsoleDependencies } from './session.ts'
import { findConsoleSession } from './session.ts'

export type TestSignInDependencies = ConsoleDependencies & {
  upstream: Upstream
  /** Whether a person may change an identity provider. */
  mayChangeProvider(person: string, provider: string): Promise<boolean>
}

/** The same error whether the provider does not exist or may not be changed. */
const refused = () =>
  new StatusError(
    Code.PERMISSION_DENIED,
    'sign in to the console as somebody who may change this identity provider',
  )

export async function startTestSignIn(
  deps: TestSignInDependencies,
  page: PageRequest,
): Promise<PageResponse> {
  const provider = page.query.get('provider') ?? ''
  const session = await findConsoleSession(deps, page)
  if (!session || !(await deps.mayChangeProvider(session.signIn.person, provider))) throw refused()
  try {
    return { location: await startUpstream(deps.upstream, provider, { test: rememberBrowser(deps, page) }) }
  } catch (error) {
    return failure(error)
  }
}

/** Shows the result in the browser that began the test. */
export async function finishTestSignIn(
  deps: TestSignInDependencies,
  page: PageRequest,
): Promise<PageResponse> {
  const { test } = openState(deps.upstream, page.query.get('state') ?? '')
  if (test === undefined || !isSameBrowser(deps.authUrl, page, test)) throw expiredSignIn()
  try {
    return { page: testedSignInPage(resultOf(await finishUpstream(deps.upstream, page.query, { test }))) }
  } catch (error) {
    return failure(error)
  }
}

/** How many claims are shown. A token has a few dozen at most. */
const maxClaims = 100
const maxLength = 500

function resultOf({ person, externalId, claimed, claims }: UpstreamResult & { claims: IDToken }) {
  const { name, email, emailUnverified, issuer } = person
  return {
    person: [
      ['Name', name],
      ['Issuer', issuer],
      ['Recognised by', externalId],
      ...(email ? [['E-mail address', email] as const] : []),
      ...(emailUnverified ? [['E-mail address, not verified', emailUnverified] as const] : []),
      ['Groups', shorten(claimed.groups.join(', ') || 'none')],
    ] as const,
    claims: Object.entries(claims)
      .slice(0, maxClaims)
      .map(([claim, value]) => [shorten(claim), shorten(JSON.stringify(value))] as const),
  }
}

const failure = (error: unknown): PageResponse => {
  if (!(error instanceof StatusError)) throw error
  return { page: failedTestPage(causesOf(error)), status: error.http }
}

const maxCauses = 6

/**
 * The messages of an error and of its causes, with the error codes of OAuth, each said once. They contain no secrets. The
 * error itself is for people who sign in, and is left out if it has a cause.
 */
function causesOf(error: StatusError): string[] {
  if (error.cause === undefined) return [sentence(plainMessage(error))]
  const causes: string[] = []
  let current: unknown = error.cause
  while (current && causes.length < maxCauses) {
    // Its message contains the addresses of the host, which would reveal the addresses of hosts in the internal network.
    if (current instanceof NoAddressError)
      return ['the host of the issuer has no public address, or only addresses of this server']
    const text = textOf(current)
    if (text !== '' && text !== wrapperMessage && !causes.some((cause) => cause.includes(text)))
      causes.push(text)
    current = current instanceof Error ? causeOf(current) : undefined
  }
  return causes
}

/** The message of openid-client for errors that are not its own, such as those of our `fetch`. */
const wrapperMessage = 'something went wrong'

/** openid-client reports the challenges of a response (`WWW-Authenticate`) as a list. */
const causeOf = ({ cause }: Error): unknown =>
  Array.isArray(cause) ? (cause[0] as { parameters?: unknown } | undefined)?.parameters : cause

/** The fields of errors and of error responses of providers (RFC 6749, 5.2). */
type ErrorFields = Partial<Record<'message' | 'code' | 'error' | 'error_description', unknown>>

function textOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return shorten(String(error))
  const { message, code, error: oauthCode, error_description: description } = error as ErrorFields
  const parts = [message, oauthCode, description, message ? undefined : code]
  return shorten([...new Set(parts.filter((part) => typeof part === 'string' && part !== ''))].join(': '))
}

const shorten = (text: string) => (text.length > maxLength ? `${text.slice(0, maxLength)}…` : text)
