// The exchange at the standard token endpoint (RFC 8693). Errors are those of RFC 6749.
import { Code } from '../../aip/code.ts'
import { malformed, StatusError } from '../../aip/errors.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Throttle } from '../throttle.ts'
import { throttled } from '../throttle.ts'
import { requestedNarrowing } from '../tokens/narrowing.ts'
import type { Answer } from './visit.ts'
import { retryOf, wordsOf } from './visit.ts'

export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'

export type TokenExchangeOptions = {
  exchange: Exchange
  throttle: Throttle
  isCapability(name: string): boolean
  now(): number
  /** Told why, which the caller is not. */
  onRefusal(address: string, reason: string): void
}

const typeOf = (name: string) => `urn:ietf:params:oauth:token-type:${name}`
const accessToken = typeOf('access_token')
const subjectTypes = ['jwt', 'id_token', 'access_token'].map(typeOf)

export function openTokenExchange({
  exchange,
  throttle,
  isCapability,
  now,
  onRefusal,
}: TokenExchangeOptions) {
  async function issue(form: URLSearchParams, address: string): Promise<Answer> {
    requireKnown(form)
    const audiences = [...form.getAll('audience'), ...form.getAll('resource')]
    // Scopes of OAuth are what a token is good for, which here are capabilities; groups are named by `scopes`.
    const cap = [...form.getAll('cap'), ...(form.get('scope') ?? '').split(' ').filter(Boolean)]
    const narrowing = requestedNarrowing({ scopes: form.getAll('scopes'), cap }, isCapability)
    const asked = { identity: form.get('identity') ?? '', audiences, narrowing }
    const bearer = form.get('subject_token') ?? ''
    const { token, expiry } = await throttled(throttle, address, () => exchange(bearer, asked))
    return {
      json: {
        access_token: token,
        issued_token_type: accessToken,
        token_type: 'Bearer',
        expires_in: Math.max(0, Math.floor((expiry - now()) / 1000)),
      },
    }
  }

  return (form: URLSearchParams, address: string): Promise<Answer> =>
    issue(form, address).catch((error: unknown) => {
      if (!(error instanceof StatusError)) throw error
      onRefusal(address, String(error.cause ?? error.message))
      return oauthError(error)
    })
}

function requireKnown(form: URLSearchParams): void {
  if (!form.get('subject_token')) throw malformed('subject_token is required')
  if (!subjectTypes.includes(form.get('subject_token_type') ?? ''))
    throw malformed(`subject_token_type must be one of ${subjectTypes.join(', ')}`)
  if (form.has('actor_token')) throw malformed('actor_token is not supported')
  const wanted = form.get('requested_token_type')
  if (wanted !== null && wanted !== accessToken && wanted !== typeOf('jwt'))
    throw malformed(`requested_token_type must be ${accessToken}`)
}

const errorOf: Partial<Record<string, string>> = {
  aud: 'invalid_target',
  scopes: 'invalid_scope',
  cap: 'invalid_scope',
}

/** In the words of RFC 6749. */
export function oauthError(error: StatusError): Answer {
  const [violation] = error.violations
  const isOurs = error.code === Code.RESOURCE_EXHAUSTED || error.code === Code.UNAVAILABLE
  return {
    status: isOurs || error.http >= 405 ? error.http : 400,
    json: {
      error: isOurs ? 'temporarily_unavailable' : (errorOf[violation?.field ?? ''] ?? 'invalid_request'),
      error_description: wordsOf(error),
    },
    headers: retryOf(error),
  }
}
