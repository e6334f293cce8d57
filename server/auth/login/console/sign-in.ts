// Signs a browser in to the web console, with an authorization code of our own OpenID Provider.
import { digestOf } from '../../../crypto/digest.ts'
import { openText, sealText } from '../../../crypto/secret.ts'
import { isSameBrowser, rememberBrowser } from '../browser.ts'
import { expiredSignIn } from '../error-response.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { consolePaths, isConsoleSessionPath, paths } from '../paths.ts'
import { consoleClient } from '../provider/clients.ts'
import { redeemCode } from '../redeem-code.ts'
import type { ConsoleDependencies } from './session.ts'
import { startConsoleSession } from './session.ts'

/** A sign-in under way. The browser carries it, encrypted, as `state`, and a cookie binds it to that browser. */
type StartedSignIn = {
  /** The path to show after the sign-in: a page of the console or of the documentation. */
  to: string
  verifier: string
  /** The digest of the browser's secret (browser.ts). */
  browser: string
  /** In milliseconds since 1970. */
  expires: number
}

const purpose = 'sign-in of the console'
const lifetimeMs = 60 * 60_000

/** Parameters that are passed on to the authorization request as they are. */
const forwardedParameters = ['idp_id', 'invite', 'login_hint']

export async function startConsoleSignIn(
  deps: ConsoleDependencies,
  page: PageRequest,
): Promise<PageResponse> {
  const { authUrl, baseUrl, sealer, now, random } = deps
  const verifier = random(32).toString('base64url')
  const started: StartedSignIn = {
    ...{ verifier, expires: now() + lifetimeMs },
    to: ownPath(baseUrl, page.query.get('to') ?? ''),
    browser: rememberBrowser(deps, page),
  }
  const parameters = new URLSearchParams({
    ...{ client_id: consoleClient, response_type: 'code', scope: 'openid' },
    redirect_uri: baseUrl + consolePaths.signedIn,
    state: sealText(sealer, purpose, JSON.stringify(started)),
    ...{ code_challenge: digestOf(verifier), code_challenge_method: 'S256' },
    // A person who is already signed in must confirm, or with `again` prove again who they are.
    prompt: page.query.has('again') ? 'login consent' : 'consent',
  })
  for (const name of forwardedParameters) {
    const value = page.query.get(name)
    if (value) parameters.set(name, value)
  }
  return { location: `${authUrl}${paths.authorization}?${parameters}` }
}

export async function finishConsoleSignIn(
  deps: ConsoleDependencies,
  page: PageRequest,
): Promise<PageResponse> {
  const { verifier, to } = openStarted(deps, page)
  const redeemed = await redeemCode(deps.provider(), page.query, { client: consoleClient, verifier })
  await startConsoleSession(deps, page, redeemed)
  return { location: deps.baseUrl + to }
}

/** Refuses a sign-in that was begun in another browser, or has expired. */
function openStarted({ sealer, now, authUrl }: ConsoleDependencies, page: PageRequest): StartedSignIn {
  try {
    const started = JSON.parse(openText(sealer, purpose, page.query.get('state') ?? '')) as StartedSignIn
    if (isSameBrowser(authUrl, page, started.browser) && started.expires > now()) return started
  } catch {
    throw expiredSignIn()
  }
  throw expiredSignIn()
}

/** A path has at most this many characters: the browser carries it in a URL. */
const maxPathLength = 1000

/**
 * `to` if it is a path of the console or of the documentation, or else the path of the console's first page. A sign-in
 * never leads to another site.
 */
function ownPath(baseUrl: string, to: string): string {
  const { origin } = new URL(baseUrl)
  if (!isPagePath(to) || to.length > maxPathLength || !URL.canParse(to, origin)) return consolePaths.home
  const url = new URL(to, origin)
  const isOwn = url.origin === origin && isPagePath(url.pathname)
  return isOwn && !isConsoleSessionPath(url.pathname)
    ? url.pathname + url.search + url.hash
    : consolePaths.home
}

const isPagePath = (path: string) => path.startsWith(consolePaths.home) || path.startsWith(docsPath)

/** The documentation: a page for each service of the API, and the guides. */
const docsPath = '/docs/'
