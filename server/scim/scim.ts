// SCIM 2.0 (RFC 7643, RFC 7644) for the identity providers of organizations. Loaded at the first request.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CallLimits } from '../limits/rate/call-limits.ts'
import { costClasses } from '../limits/rate/cost-class.ts'
import { lockScimSettings, readScimSettings } from '../store/scim-settings.ts'
import { requireToken } from './authenticate.ts'
import { readBody } from './body.ts'
import { checkedStore } from './checked-store.ts'
import { clientErrorOf, errorBody, noSuchEndpoint, ScimError } from './errors.ts'
import type { ScimTarget } from './path.ts'
import { parseTarget } from './path.ts'
import type { ScimDependencies, ScimRequest } from './request.ts'
import { answer } from './routes.ts'
import type { RenderedResponse, ReserveUnsent } from './send.ts'
import { render, send } from './send.ts'

export type ScimServerDependencies = ScimDependencies & {
  /** The URL below which the endpoints of all providers are. */
  scimUrl: string
  limits: CallLimits
  unsent: { reserve: ReserveUnsent }
  /** A monotonic clock in milliseconds, for the rate limits. */
  clock(): number
  /** The system clock in milliseconds since 1970, with which the store compares deadlines. */
  systemNow(): number
  onRequest(event: ScimEvent): void
  /** Called for a request that was refused before its provider was authenticated. */
  onRefusal(address: string, reason: string): void
  onError(error: unknown, requestId: string): void
}

export type ScimEvent = {
  requestId: string
  provider: string
  method: string
  /** The first segment after the uid of the provider, such as `Users`. */
  endpoint: string
  status: number
}

type Target = { path: string; query: string; address: string }
export type ScimHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  target: Target,
) => Promise<void>

export function openScim(deps: ScimServerDependencies): ScimHandler {
  return async (request, response, target) => {
    const scimTarget = parseTarget(target.path)
    const requestId = String(response.getHeader('x-request-id') ?? '')
    let isAuthenticated = false
    const result = await serve(deps, request, target, scimTarget, () => {
      isAuthenticated = true
    }).catch((error: unknown) => {
      const clientError = clientErrorOf(error)
      if (!clientError) deps.onError(error, requestId)
      return responseOf(clientError ?? new ScimError(500, 'something went wrong on our side'))
    })
    const { status } = result
    if (isAuthenticated && scimTarget)
      deps.onRequest({
        ...{ requestId, provider: scimTarget.provider, method: request.method ?? '', status },
        endpoint: scimTarget.endpoint[0] ?? '',
      })
    else deps.onRefusal(target.address, `SCIM request refused with ${status}`)
    send(request, response, result)
  }
}

/** The address is limited before the token is verified, the organization afterwards. */
async function serve(
  deps: ScimServerDependencies,
  request: IncomingMessage,
  { query, address }: Target,
  scimTarget: ScimTarget | undefined,
  onAuthenticated: () => void,
): Promise<RenderedResponse> {
  const { limits, unsent, clock } = deps
  const costClass = costClassOf(request.method ?? '', scimTarget)
  const now = clock()
  const network = limits.arrive(costClass, address, now)
  if (!scimTarget) throw noSuchEndpoint()
  const { provider, endpoint } = scimTarget
  const { authorization } = request.headers
  await deps.store.read(() => requireToken(readScimSettings, provider, authorization, deps.now()))
  onAuthenticated()
  // The provider counts as a caller of its organization.
  const caller = limits.enter(costClass, provider, network, now)
  try {
    const check = () => requireToken(lockScimSettings, provider, authorization, deps.now())
    const store = checkedStore(deps.store, check, deps.systemNow)
    const response = await answer(
      { ...deps, store },
      requestOf(deps, request, provider, endpoint, { query, address }),
    )
    return render(response, (bytes) => unsent.reserve({ identity: provider, address }, bytes))
  } finally {
    limits.leave(caller)
  }
}

const [readClass, listClass, writeClass] = (['read', 'list', 'write'] as const).map((name) =>
  costClasses.indexOf(name),
) as [number, number, number]

function costClassOf(method: string, target: ScimTarget | undefined): number {
  if (method !== 'GET' && method !== 'HEAD')
    return target?.endpoint.at(-1) === '.search' ? listClass : writeClass
  return target?.endpoint.length === 1 ? listClass : readClass
}

const requestOf = (
  { scimUrl }: ScimServerDependencies,
  request: IncomingMessage,
  provider: string,
  endpoint: readonly string[],
  { query, address }: Pick<Target, 'query' | 'address'>,
): ScimRequest => ({
  ...{ address, userAgent: request.headers['user-agent'] },
  ...{ provider, endpoint, base: `${scimUrl}/${provider}` },
  method: request.method === 'HEAD' ? 'GET' : (request.method ?? ''),
  query: new URLSearchParams(query),
  ifMatch: request.headers['if-match'],
  ifNoneMatch: request.headers['if-none-match'],
  body: () => readBody(request),
})

const responseOf = (error: ScimError): RenderedResponse =>
  render({ status: error.status, body: errorBody(error), headers: error.headers })
