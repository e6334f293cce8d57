// The handlers of the paths of sign-in.
import { allowHeader, methodNotAllowed, noSuchPath } from '../../aip/errors.ts'
import { finishConsoleSignIn, startConsoleSignIn } from './console/sign-in.ts'
import { signOutOfConsole } from './console/sign-out.ts'
import type { TestSignInDependencies } from './console/test-sign-in.ts'
import { finishTestSignIn, startTestSignIn } from './console/test-sign-in.ts'
import { issueConsoleToken } from './console/token.ts'
import type { InviteDependencies } from './invite/invite.ts'
import { acceptInviteInBrowser, showInvite } from './invite/invite.ts'
import type { PageRequest, PageResponse } from './page-request.ts'
import { consolePaths, isOidcProviderPath, paths } from './paths.ts'
import type { PublishedDependencies } from './published/dependencies.ts'
import { finishPublished } from './published/finish.ts'
import { checkOrganization } from './published/organization-check.ts'
import { startPublished } from './published/start.ts'
import { choosePassword, showPasswordForm } from './set-up/choose-password.ts'
import type { SetUpDependencies } from './set-up/dependencies.ts'
import { setUpServer, showSetUp } from './set-up/set-up.ts'
import type { SignInDependencies } from './sign-in/dependencies.ts'
import { signInWithNewAccount } from './sign-in/new-account.ts'
import { goToOrganization, returnFromOrganization } from './sign-in/organization.ts'
import { servePasskeyScript, signInWithPasskey } from './sign-in/passkey.ts'
import { signInWithPassword } from './sign-in/password.ts'
import { signInWithCode } from './sign-in/second-factor.ts'
import { cancelSignIn, continueSession } from './sign-in/session.ts'
import { showSignIn } from './sign-in/show.ts'
import { purposeOf } from './upstream/authorization-state.ts'
import type { Upstream } from './upstream/upstream.ts'

export type RouteDependencies = SignInDependencies &
  SetUpDependencies &
  PublishedDependencies &
  TestSignInDependencies &
  InviteDependencies

type Handler = (deps: RouteDependencies, request: PageRequest) => Promise<PageResponse>

const handlers: Record<string, Handler> = {
  [`GET ${paths.signIn}/:uid`]: showSignIn,
  [`POST ${paths.signIn}/:uid`]: signInWithPassword,
  [`POST ${paths.signIn}/:uid/second-factor`]: signInWithCode,
  [`POST ${paths.signIn}/:uid/passkey`]: signInWithPasskey,
  [`GET ${paths.passkeyScript}`]: servePasskeyScript,
  [`POST ${paths.signIn}/:uid/account`]: signInWithNewAccount,
  [`POST ${paths.signIn}/:uid/organization`]: goToOrganization,
  [`POST ${paths.signIn}/:uid/continue`]: continueSession,
  [`POST ${paths.signIn}/:uid/cancel`]: cancelSignIn,
  [`GET ${paths.signIn}/:uid/callback`]: returnFromOrganization,
  [`GET ${paths.callback}`]: returnToInteraction,
  [`GET ${paths.callback}/:provider`]: returnToInteraction,
  [`GET ${paths.setUp}`]: showSetUp,
  [`POST ${paths.setUp}`]: setUpServer,
  [`GET ${paths.password}`]: showPasswordForm,
  [`POST ${paths.password}`]: choosePassword,
  [`GET ${paths.invite}/:code`]: showInvite,
  [`POST ${paths.invite}`]: acceptInviteInBrowser,
  [`GET ${paths.published}`]: startPublished,
  [`GET ${paths.publishedReturn}`]: finishPublished,
  [`GET ${paths.organizationCheck}`]: checkOrganization,
  [`GET ${consolePaths.signIn}`]: startConsoleSignIn,
  [`GET ${consolePaths.signedIn}`]: finishConsoleSignIn,
  [`POST ${consolePaths.token}`]: issueConsoleToken,
  [`POST ${consolePaths.signOut}`]: signOutOfConsole,
  [`GET ${consolePaths.testSignIn}`]: startTestSignIn,
  [`GET ${consolePaths.testedSignIn}`]: finishTestSignIn,
}

/**
 * Returns the handler of a request. No other code selects handlers. Paths must match exactly: the router of
 * oidc-provider ignores a slash at the end, so `/device/` would show the page of device codes, but without our limits
 * on wrong codes.
 */
export function routeOf({ method, path }: Pick<PageRequest, 'method' | 'path'>): Handler | 'oidc-provider' {
  const pattern = patternOf(path)
  const handler = handlers[`${method === 'HEAD' ? 'GET' : method} ${pattern}`]
  if (handler) return handler
  if (isOidcProviderPath(path)) return 'oidc-provider'
  const allowed = Object.keys(handlers)
    .filter((route) => route.endsWith(` ${pattern}`))
    .map((route) => route.slice(0, route.indexOf(' ')))
  throw allowed.length > 0 ? methodNotAllowed(allowHeader(allowed)) : noSuchPath()
}

const signInPath = new RegExp(`^${paths.signIn}/[^/]+`)
const callbackPath = new RegExp(`^${paths.callback}/.+`)

const invitePath = new RegExp(`^${paths.invite}/[\\w-]+$`)

const patternOf = (path: string) =>
  path
    .replace(invitePath, `${paths.invite}/:code`)
    .replace(signInPath, `${paths.signIn}/:uid`)
    .replace(callbackPath, `${paths.callback}/:provider`)

/**
 * After the return from a provider, redirects to the path of the sign-in, because only that path gets the cookies of
 * the sign-in. If the provider was tested, redirects to the console instead.
 */
async function returnToInteraction(
  { upstream, authUrl, baseUrl }: { upstream: Upstream; authUrl: string; baseUrl: string },
  { path, query }: PageRequest,
): Promise<PageResponse> {
  const { interaction } = purposeOf(upstream, query.get('state') ?? '', authUrl + path)
  if (interaction === undefined) return { location: `${baseUrl}${consolePaths.testedSignIn}?${query}` }
  return { location: `${authUrl}${paths.signIn}/${interaction}/callback?${query}` }
}
