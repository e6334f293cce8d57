// Passes requests on to oidc-provider, except for those that it does not support: the token exchange, and the
// revocation of access tokens and of our own refresh tokens.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Provider } from 'oidc-provider'
import { contentSecurityPolicy } from '../../pages/frame.ts'
import { prefixOf } from '../../pages/url-prefix.ts'
import type { RefreshTokens } from '../refresh/refresh-tokens.ts'
import { isRefreshToken } from '../refresh/token-format.ts'
import { isAccessToken } from '../tokens/token-type.ts'
import type { DeviceCodeDependencies } from './device-code.ts'
import { enterDeviceCode } from './device-code.ts'
import type { PageRequest, PageResponse } from './page-request.ts'
import { readForm, sendResponse } from './page-request.ts'
import { paths } from './paths.ts'
import type { RevocationDependencies } from './revoke-access-token.ts'
import { revocationOf, revokeAccessToken } from './revoke-access-token.ts'
import type { TokenExchangeDependencies } from './token-exchange.ts'
import { exchangeAtTokenEndpoint, tokenExchangeGrantType } from './token-exchange.ts'

export type ForwardDependencies = TokenExchangeDependencies &
  DeviceCodeDependencies &
  RevocationDependencies & { provider(): Provider; refreshTokens: RefreshTokens; authUrl: string }

/** Endpoints some of whose forms are not passed on. */
const formEndpoints: readonly string[] = [paths.token, paths.revocation]

/** Endpoints to which programs post forms. Their errors are JSON. */
const programEndpoints: readonly string[] = [...formEndpoints, paths.deviceAuthorization]

export const isProgramEndpoint = (path: string) => programEndpoints.includes(path)

export async function forwardToOidcProvider(deps: ForwardDependencies, page: PageRequest): Promise<void> {
  const { request, response, path, query } = page
  let forwarded = request
  // A link may contain the code as `user_code`, which oidc-provider would submit. As `code`, it only prefills the form,
  // and the person must submit it.
  if (path === paths.device) renameParameter(query, 'user_code', 'code')
  // oidc-provider would store `state` in the session, which may be a cookie and must stay small. Only a redirect after
  // the sign-out needs `state`, and no client has registered such a redirect.
  if (path === paths.logout) query.delete('state')
  if (request.method === 'POST' && formEndpoints.includes(path)) {
    const form = await readForm(request)
    const answer = await answerForm(deps, form, page)
    if (answer) return sendResponse(page, answer)
    forwarded = withBody(request, form)
  }
  setUrl(deps.authUrl, forwarded, page)
  response.setHeader('content-security-policy', contentSecurityPolicy)
  const submitsDeviceCode = path === paths.device && request.method === 'POST'
  await (submitsDeviceCode
    ? enterDeviceCode(deps, forwarded, response, page.address)
    : deps.provider().callback()(forwarded, response))
}

/** The response to a form that is not passed on; undefined if oidc-provider must answer it. */
async function answerForm(
  deps: ForwardDependencies,
  form: URLSearchParams,
  page: PageRequest,
): Promise<PageResponse | undefined> {
  if (page.path === paths.token) {
    const isExchange = form.get('grant_type') === tokenExchangeGrantType
    return isExchange ? exchangeAtTokenEndpoint(deps, form, page) : undefined
  }
  const token = form.get('token') ?? ''
  if (isAccessToken(token)) return revokeAccessToken(deps, token, page)
  if (!isRefreshToken(token)) return undefined
  await deps.refreshTokens.revoke(token, (identity, provider) =>
    deps.pageLog.record(page, revocationOf(identity, provider)),
  )
  return { json: {} }
}

/** oidc-provider builds URLs from the request, so host and scheme are those of the auth URL, not the client's. */
function setUrl(authUrl: string, request: IncomingMessage, { path, query }: PageRequest): void {
  const search = query.size > 0 ? `?${query}` : ''
  Object.assign(request, { url: path + search, originalUrl: prefixOf(authUrl) + path + search })
  for (const name of Object.keys(request.headers))
    if (name.startsWith('x-forwarded-')) delete request.headers[name]
  const { host, protocol } = new URL(authUrl)
  Object.assign(request.headers, { host, 'x-forwarded-proto': protocol.slice(0, -1) })
}

function renameParameter(query: URLSearchParams, from: string, to: string): void {
  const value = query.get(from)
  query.delete(from)
  if (value !== null) query.set(to, value)
}

/** A copy of a request whose body was read already. It has only the parts of an IncomingMessage that Koa needs. */
function withBody(request: IncomingMessage, form: URLSearchParams): IncomingMessage {
  const { method, socket, httpVersion } = request
  const body = Buffer.from(form.toString())
  const copy = Readable.from([body], { objectMode: false })
  const headers = { ...request.headers, 'content-length': String(body.length) }
  return Object.assign(copy, { headers, method, socket, httpVersion }) as unknown as IncomingMessage
}
