// Sign-in for people: all of its pages and endpoints, behind one handler. Loaded at the first request for one of them.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StatusError } from '../../aip/errors.ts'
import { internal } from '../../aip/errors.ts'
import { prefixOf } from '../../pages/url-prefix.ts'
import { clientErrorOf, errorResponse } from './error-response.ts'
import type { ForwardDependencies } from './forward-to-oidc-provider.ts'
import { forwardToOidcProvider, isProgramEndpoint } from './forward-to-oidc-provider.ts'
import { pageReferrerPolicy, requireNavigation, requireOwnOrigin } from './own-origin.ts'
import type { PageEvent, PageLogDependencies } from './page-log.ts'
import { openPageLog } from './page-log.ts'
import type { PageRequest, Target } from './page-request.ts'
import { pageRequestOf, sendResponse } from './page-request.ts'
import type { LogRefusal } from './provider/dependencies.ts'
import { devicePagesOf } from './provider/device-pages.ts'
import { openProvider } from './provider/provider.ts'
import { openSuccessors } from './provider/refresh-tokens.ts'
import type { RouteDependencies } from './routes.ts'
import { routeOf } from './routes.ts'
import { openSealedStates } from './sealed-states.ts'
import { oauthError } from './token-exchange.ts'
import type { UpstreamDependencies } from './upstream/upstream.ts'
import { openUpstream } from './upstream/upstream.ts'

/** Everything that pages and endpoints need. */
type PageDependencies = RouteDependencies & ForwardDependencies

type CreatedHere =
  | ('provider' | 'upstream' | 'requestsWithWrongCode')
  | 'pageLog'
  | ('sealer' | 'onSignInResult' | 'onIgnoredGroups' | 'onSetUp' | 'onRefusal')

export type LoginDependencies = Omit<PageDependencies, CreatedHere> &
  Omit<UpstreamDependencies, CreatedHere> & {
    /** The time between two polls of a device, if it is not the default. */
    devicePollSeconds?: number | undefined
    /** The event log. */
    events: Omit<PageLogDependencies, 'now' | 'random'>
    /** Writes a line to the log of the server. */
    log(event: Record<string, unknown>, message: string): void
    /**
     * Like `log`, for events that anyone can cause. After many events from one network, the log contains only the
     * number of further ones.
     */
    logRefusal: LogRefusal
    /** Called if the client closes or breaks its connection during a request. */
    onDisconnect(error: Error): void
    onError(error: unknown): void
    /** Throws if the network of an address has sent too many requests. */
    admit(address: string): void
  }

export type Login = (request: IncomingMessage, response: ServerResponse, target: Target) => Promise<void>

export function openLogin(deps: LoginDependencies): Login {
  // Passes the current request to the adapter of oidc-provider, which does not receive it as an argument.
  const pages = new AsyncLocalStorage<PageRequest>()
  const prefix = prefixOf(deps.authUrl)
  const pageDeps = openPageDependencies(deps, () => currentOf(pages))
  return async (request, response, target) => {
    const page = pageRequestOf(request, response, target, prefix)
    try {
      requireRate(deps, page)
      await pages.run(page, () => answer(pageDeps, page))
    } catch (error) {
      // A client that closed the connection while sending receives nothing.
      if (request.destroyed && !request.complete) return
      const clientError = clientErrorOf(error)
      if (!clientError) deps.onError(error)
      answerError(page, clientError ?? internal(error))
    }
  }
}

function requireRate({ admit, logRefusal }: LoginDependencies, { address }: PageRequest): void {
  try {
    admit(address)
  } catch (error) {
    logRefusal({ address, reason: (error as Error).message }, 'sign-in refused')
    throw error
  }
}

function currentOf(pages: AsyncLocalStorage<PageRequest>): PageRequest {
  const page = pages.getStore()
  if (!page) throw new Error('the state of a sign-in was used outside of a request')
  return page
}

function openPageDependencies(deps: LoginDependencies, currentPage: () => PageRequest): PageDependencies {
  const { secret, log, logRefusal } = deps
  const requestsWithWrongCode = new WeakSet<IncomingMessage>()
  const devicePages = devicePagesOf(prefixOf(deps.authUrl), (request) => requestsWithWrongCode.add(request))
  // Encrypts the state of sign-ins, which browsers keep in cookies. Anyone can make the server
  // encrypt such cookies, so they have a key of their own (see `sealerFor`).
  const sealer = secret.sealerFor('sign-ins under way')
  const sealedStates = openSealedStates({ ...deps, sealer, currentPage })
  const pageLog = openPageLog({ ...deps.events, now: deps.now, random: deps.random })
  const providerDeps = {
    onEvent: (event: PageEvent) => pageLog.add(currentPage(), event),
    ...{ devicePages, sealedStates, currentPage, successorOf: openSuccessors(secret) },
    cookieKeys: [secret.derive('cookies').toString('base64url')],
  }
  return {
    ...deps,
    provider: openProvider({ ...deps, ...providerDeps }),
    ...{ sealer, pageLog },
    upstream: openUpstream({ ...deps, sealer }),
    requestsWithWrongCode,
    onSignInResult: (event) =>
      event.reason === undefined ? log(event, 'signed in') : logRefusal(event, 'sign-in failed'),
    onIgnoredGroups: (event) => log(event, 'groups of a token ignored'),
    onSetUp: (event) => log(event, event.organization === undefined ? 'password chosen' : 'server set up'),
    onRefusal: (address, reason) => logRefusal({ address, reason }, 'exchange refused'),
  }
}

async function answer(deps: PageDependencies, page: PageRequest): Promise<void> {
  const { request, response, path } = page
  requireOwnOrigin(request, path, deps)
  requireNavigation(request, path)
  response.setHeader('referrer-policy', pageReferrerPolicy)
  const route = routeOf(page)
  if (route === 'oidc-provider') return forwardToOidcProvider(deps, page)
  return sendResponse(page, await route(deps, page))
}

function answerError(page: PageRequest, error: StatusError): void {
  if (page.response.headersSent) {
    page.response.destroy()
    return
  }
  const { allow } = error.headers
  if (allow !== undefined) page.response.setHeader('allow', allow)
  sendResponse(page, isProgramEndpoint(page.path) ? oauthError(error) : errorResponse(error))
}
