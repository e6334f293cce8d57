// The exchange at the standard token endpoint (RFC 8693), with the errors of RFC 6749, 5.2.
import { Code } from '../../aip/code.ts'
import { invalidField, malformed, retryHeaders, StatusError } from '../../aip/errors.ts'
import { resemblesLimit } from '../../aip/token-limit-names.ts'
import type { Exchange, ExchangeRequest } from '../exchange/exchange.ts'
import { throttledExchange } from '../exchange/failed-exchanges.ts'
import type { Throttle } from '../throttle.ts'
import { issuedSubject } from '../tokens/issued-subject.ts'
import { requestedLimits, requireCapabilities } from '../tokens/token-limits.ts'
import { plainMessage } from './error-response.ts'
import type { PageLog } from './page-log.ts'
import type { PageRequest, PageResponse } from './page-request.ts'

export const tokenExchangeGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange'

export type TokenExchangeDependencies = {
  exchange: Exchange
  throttle: Throttle
  pageLog: Pick<PageLog, 'add'>
  isCapability(name: string): boolean
  now(): number
  /** Called for a refusal. `reason` may say more than the response does. */
  onRefusal(address: string, reason: string): void
}

const tokenTypeUri = (name: string) => `urn:ietf:params:oauth:token-type:${name}`
const accessTokenType = tokenTypeUri('access_token')
const subjectTokenTypes = ['jwt', 'id_token', 'access_token'].map(tokenTypeUri)

export async function exchangeAtTokenEndpoint(
  deps: TokenExchangeDependencies,
  form: URLSearchParams,
  page: PageRequest,
): Promise<PageResponse> {
  const { exchange, throttle, pageLog, now, onRefusal } = deps
  const { address } = page
  try {
    requireSupported(form)
    requireNoMisspeltLimit(form)
    const request = requestOf(deps, form)
    const bearer = form.get('subject_token') ?? ''
    const attempt = { address, bearer, identity: request.identity }
    const { token, expiry } = await throttledExchange(throttle, attempt, () => exchange(bearer, request))
    pageLog.add(page, { method: 'oauth/token', action: 'exchanged', identity: issuedSubject(token) })
    return {
      json: {
        access_token: token,
        issued_token_type: accessTokenType,
        token_type: 'Bearer',
        expires_in: Math.max(0, Math.floor((expiry - now()) / 1000)),
      },
    }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    onRefusal(address, String(error.cause ?? error.message))
    return oauthError(error)
  }
}

function requestOf({ isCapability }: TokenExchangeDependencies, form: URLSearchParams): ExchangeRequest {
  // The parameter `scope` of OAuth lists capabilities. Groups are in the parameter `scopes`.
  const scope = capabilitiesOf(form.get('scope'))
  requireCapabilities('scope', scope, isCapability)
  const cap = [...form.getAll('cap'), ...scope]
  return {
    identity: form.get('identity') ?? '',
    identityProvider: form.get('identity_provider') ?? '',
    audiences: [...form.getAll('audience'), ...form.getAll('resource')],
    limits: requestedLimits({ scopes: form.getAll('scopes'), cap }, isCapability),
  }
}

/**
 * An empty `scope` is refused, although RFC 6749 section 3.2 treats an empty parameter as absent: absent means no limit,
 * and a script whose variable is empty must not get an unlimited token.
 */
function capabilitiesOf(scope: string | null): string[] {
  if (scope === null) return []
  const names = scope.split(' ').filter(Boolean)
  if (names.length === 0) throw invalidField('scope', 'must not be empty; omit it for no limit')
  return names
}

const limitParameters = new Set(['scope', 'scopes', 'cap'])

/** A misspelt limit is refused. If it were ignored, as RFC 6749 section 3.2 requires, the token would be unlimited. */
function requireNoMisspeltLimit(form: URLSearchParams): void {
  for (const name of form.keys())
    if (!limitParameters.has(name) && resemblesLimit(name))
      throw malformed(
        `${JSON.stringify(name.slice(0, 40))} is not a parameter; limits are scope and cap (capabilities), and scopes (groups)`,
      )
}

function requireSupported(form: URLSearchParams): void {
  if (!form.get('subject_token')) throw malformed('subject_token is required')
  if (!subjectTokenTypes.includes(form.get('subject_token_type') ?? ''))
    throw malformed(`subject_token_type must be one of ${subjectTokenTypes.join(', ')}`)
  if (form.has('actor_token')) throw malformed('actor_token is not supported')
  const requestedType = form.get('requested_token_type')
  if (requestedType !== null && requestedType !== accessTokenType && requestedType !== tokenTypeUri('jwt'))
    throw malformed(`requested_token_type must be ${accessTokenType}`)
}

const errorByField: Partial<Record<string, string>> = {
  aud: 'invalid_target',
  scope: 'invalid_scope',
  scopes: 'invalid_scope',
  cap: 'invalid_scope',
}

export function oauthError(error: StatusError): PageResponse {
  return {
    // 400 in place of 401, 403 and 404 (RFC 6749, 5.2); other errors keep their status.
    status: error.http >= 405 ? error.http : 400,
    json: { error: errorCodeOf(error), error_description: plainMessage(error) },
    headers: retryHeaders(error),
  }
}

/** Clients repeat a request after `temporarily_unavailable`, so a request that is too large gets another error code. */
function errorCodeOf({ code, http, violations: [violation] }: StatusError): string {
  if (http === 429 || code === Code.UNAVAILABLE) return 'temporarily_unavailable'
  if (http >= 500) return 'server_error'
  return errorByField[violation?.field ?? ''] ?? 'invalid_request'
}
