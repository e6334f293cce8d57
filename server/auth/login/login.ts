// Sign-in for people: every page and endpoint of it, behind one handler. Loaded when the first of them is asked for.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { internal, methodNotAllowed, noSuchPath, StatusError } from '../../aip/errors.ts'
import type { IssuerRule } from '../../claims/issuer.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import type { Secret } from '../../crypto/secret.ts'
import { contentSecurityPolicy } from '../../pages/frame.ts'
import type { Store } from '../../store/db.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { Outbound } from '../outbound/outbound.ts'
import type { RefreshTokens } from '../refresh/refresh-tokens.ts'
import { isRefreshToken } from '../refresh/token-format.ts'
import type { Attempt, Throttle } from '../throttle.ts'
import { attemptAll, openThrottle } from '../throttle.ts'
import { devicePagesOf } from './device-pages.ts'
import { paths, prefixOf } from './paths.ts'
import type { People } from './people.ts'
import type { Profile } from './provider.ts'
import { openProvider } from './provider.ts'
import { openPublished } from './published.ts'
import { openSetUp } from './set-up.ts'
import { openSignIn } from './sign-in.ts'
import type { States } from './states.ts'
import { oauthError, openTokenExchange, tokenExchange } from './token-exchange.ts'
import { openUpstream } from './upstream.ts'
import type { Answer, Target, Visit } from './visit.ts'
import { problemPage, readForm, send, visitOf } from './visit.ts'

export type LoginOptions = {
  store: Store
  states: States
  secret: Secret
  keys: KeyRing
  people: People
  exchange: Exchange
  refreshTokens: RefreshTokens
  /** Counts failed exchanges by address. */
  throttle: Throttle
  reach: Outbound
  rule: IssuerRule
  authUrl: string
  baseUrl: string
  now(): number
  random: RandomBytes
  isCapability(name: string): boolean
  findPerson(identity: string): Promise<Profile | undefined>
  onSeen(identity: string): void
  /** Told what happens, for the log. */
  note(event: Record<string, unknown>, words: string): void
  onError(error: unknown): void
}

export type Login = (request: IncomingMessage, response: ServerResponse, target: Target) => Promise<void>

type Handle = (visit: Visit) => Promise<Answer>

/** Of wrong passwords and device codes, before one has to wait. */
const failures = { perAccountAndAddress: 10, perAddress: 50, perAccount: 100, minutes: 5 }

export function openLogin(options: LoginOptions): Login {
  const { secret, authUrl, refreshTokens, now, note, onError } = options
  const period = failures.minutes * 60_000
  const perAddress = openThrottle(failures.perAddress, period, now)
  const perAccount = openThrottle(failures.perAccount, period, now)
  const perAccountAndAddress = openThrottle(failures.perAccountAndAddress, period, now)
  const wrongCodes = new WeakSet<IncomingMessage>()
  const devicePages = devicePagesOf((request) => wrongCodes.add(request))
  const cookieKeys = [secret.derive('cookies').toString('base64url')]
  const provider = openProvider({ ...options, cookieKeys, devicePages, onError })
  const upstream = openUpstream(options)
  const signIn = openSignIn({
    ...{ ...options, provider, upstream, perAccount, perAccountAndAddress, perAddress },
    onSignIn: (event) => note(event, event.reason === undefined ? 'signed in' : 'sign-in failed'),
  })
  const published = openPublished({ ...options, provider, upstream })
  const setUp = openSetUp({ ...options, onSetUp: (event) => note(event, 'set up') })
  const exchangeToken = openTokenExchange({
    ...options,
    onRefusal: (address, reason) => note({ address, reason }, 'exchange refused'),
  })

  /** Browsers come back from a provider here; their sign-in knows them by a cookie of its own path. */
  async function comeBack({ path, query }: Visit): Promise<Answer> {
    const interaction = upstream.interactionOf(query.get('state') ?? '', authUrl + path)
    return { location: `${authUrl}${paths.signIn}/${interaction}/callback?${query}` }
  }

  const routes: { [route: string]: Handle } = {
    [`GET ${paths.signIn}/:uid`]: signIn.show,
    [`POST ${paths.signIn}/:uid`]: signIn.withPassword,
    [`POST ${paths.signIn}/:uid/account`]: signIn.withNewAccount,
    [`POST ${paths.signIn}/:uid/organization`]: signIn.withOrganization,
    [`POST ${paths.signIn}/:uid/continue`]: signIn.asBefore,
    [`POST ${paths.signIn}/:uid/cancel`]: signIn.cancel,
    [`GET ${paths.signIn}/:uid/callback`]: signIn.fromProvider,
    [`GET ${paths.callback}`]: comeBack,
    [`GET ${paths.callback}/:provider`]: comeBack,
    [`GET ${paths.setUp}`]: setUp.showSetUp,
    [`POST ${paths.setUp}`]: setUp.setUp,
    [`GET ${paths.password}`]: setUp.showPassword,
    [`POST ${paths.password}`]: setUp.choosePassword,
    [`GET ${paths.published}`]: published.start,
    [`GET ${paths.publishedReturn}`]: published.finish,
    [`GET ${paths.organizationCheck}`]: published.check,
  }
  const ours = new Set(Object.keys(routes).map((route) => route.split(' ')[1]))

  /** What the endpoints of the provider are sent and it does not know: the exchange, and our own refresh tokens. */
  async function answerForm(
    path: string,
    form: URLSearchParams,
    { address }: Visit,
  ): Promise<Answer | undefined> {
    if (path === paths.token)
      return form.get('grant_type') === tokenExchange ? exchangeToken(form, address) : undefined
    const token = form.get('token') ?? ''
    if (!isRefreshToken(token)) return undefined
    await refreshTokens.revoke(token)
    return { json: {} }
  }

  /** What is none of our pages is answered by the provider. */
  async function toProvider(visit: Visit): Promise<void> {
    const { request, response, path, query, address } = visit
    let passed = request
    // A link that brings the code of a device fills in the form; sending it is the person's part.
    if (path === paths.device) renameParameter(query, 'user_code', 'code')
    if (request.method === 'POST' && formPaths.includes(path)) {
      const form = await readForm(request)
      const answer = await answerForm(path, form, visit)
      if (answer) return send(visit, answer)
      passed = again(request, form)
    }
    const prefix = prefixOf(authUrl)
    const search = query.size > 0 ? `?${query}` : ''
    // Addresses are made of the auth URL, whatever a client or a proxy calls us.
    const { host, protocol } = new URL(authUrl)
    Object.assign(passed, { url: path + search, originalUrl: prefix + path + search })
    for (const name of Object.keys(passed.headers))
      if (name.startsWith('x-forwarded-')) delete passed.headers[name]
    Object.assign(passed.headers, { host, 'x-forwarded-proto': protocol.slice(0, -1) })
    response.setHeader('content-security-policy', contentSecurityPolicy)
    const isCode = path === paths.device && request.method === 'POST'
    await (isCode ? enterCode(passed, response, address) : provider().callback()(passed, response))
  }

  /** Codes are as few as people can type, so nobody tries many. */
  async function enterCode(
    request: IncomingMessage,
    response: ServerResponse,
    address: string,
  ): Promise<void> {
    const { accountId } = await provider().Session.get(provider().createContext(request, response) as never)
    const attempts: Attempt[] = [[perAddress, address]]
    if (accountId !== undefined) attempts.push([perAccountAndAddress, accountId])
    const succeed = attemptAll(attempts)
    await provider().callback()(request, response)
    if (!wrongCodes.has(request)) succeed()
  }

  async function answer(visit: Visit): Promise<void> {
    const pattern = patternOf(visit.path)
    const method = visit.method === 'HEAD' ? 'GET' : visit.method
    const handle = routes[`${method} ${pattern}`]
    if (handle) return send(visit, await handle(visit))
    if (ours.has(pattern)) throw methodNotAllowed(allowedAt(pattern))
    if (!belongsToProvider(visit.path)) throw noSuchPath()
    return toProvider(visit)
  }

  const allowedAt = (pattern: string) =>
    Object.keys(routes)
      .flatMap((route) => (route.endsWith(` ${pattern}`) ? [route.split(' ')[0]] : []))
      .join(', ')

  return async (request, response, target) => {
    const visit = visitOf(request, response, target)
    try {
      await answer(visit)
    } catch (thrown) {
      // Whoever went away while they still spoke is told nothing.
      if (request.destroyed && !request.complete) return
      if (!(thrown instanceof StatusError)) onError(thrown)
      const error = thrown instanceof StatusError ? thrown : internal(thrown)
      if (response.headersSent) response.destroy()
      else send(visit, formPaths.includes(target.path) ? oauthError(error) : problemPage(error))
    }
  }
}

const patternOf = (path: string) =>
  path
    .replace(/\/$/, '')
    .replace(new RegExp(`^${paths.signIn}/[^/]+`), `${paths.signIn}/:uid`)
    .replace(new RegExp(`^${paths.callback}/.+`), `${paths.callback}/:provider`)

const formPaths: string[] = [paths.token, paths.revocation]

const providerPaths: string[] = [
  ...[paths.discovery, paths.serverMetadata, paths.authorization, paths.token, paths.revocation],
  ...[paths.deviceAuthorization, paths.logout, paths.device],
]

const belongsToProvider = (path: string) =>
  providerPaths.some((one) => path === one || path.startsWith(`${one}/`))

function renameParameter(query: URLSearchParams, from: string, to: string): void {
  const value = query.get(from)
  query.delete(from)
  if (value !== null) query.set(to, value)
}

/** A request whose form was read, to be read once more. */
function again(request: IncomingMessage, form: URLSearchParams): IncomingMessage {
  const { headers, method, socket, httpVersion } = request
  const body = Buffer.from(form.toString())
  const copy = Readable.from([body], { objectMode: false })
  const length = { ...headers, 'content-length': String(body.length) }
  return Object.assign(copy, { headers: length, method, socket, httpVersion }) as unknown as IncomingMessage
}
