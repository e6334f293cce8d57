// REST over HTTP/1.1: finds the route, reads the request, writes the answer.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { internal, malformed, methodNotAllowed, noSuchPath, StatusError, tooLarge } from '../../aip/errors.ts'
import type { Corridor, Endpoint, Envelope } from '../door.ts'
import { longestCall, requestIdOf } from '../door.ts'
import { bindRequest } from './bind.ts'
import { isForm, readJsonText, readText } from './body.ts'
import { corsHeaders } from './cors.ts'
import { errorBody } from './error-body.ts'
import type { Match } from './routes.ts'
import { makeRoutes, splitPath } from './routes.ts'

export type RestOptions<E extends Endpoint> = {
  endpoints: readonly E[]
  corridor: Corridor<E>
  errorDomain: string
  /** Names the realm in challenges. */
  baseUrl: string
  corsOrigins: readonly string[]
  isTls: boolean
  /** Told of requests that met no endpoint. */
  onStray(requestId: string, error: StatusError): void
  isDraining(): boolean
}

const longestUrl = 8 * 1024

export function openRest<E extends Endpoint>(options: RestOptions<E>) {
  const { endpoints, corridor, errorDomain, baseUrl, corsOrigins, isTls, onStray, isDraining } = options
  const routes = makeRoutes(endpoints)
  const fixedHeaders = [
    ...['content-type', 'application/json', 'cache-control', 'no-store', 'x-content-type-options', 'nosniff'],
    ...[
      'content-security-policy',
      "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy',
      'no-referrer',
    ],
    ...(isTls ? ['strict-transport-security', 'max-age=31536000'] : []),
  ]

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = requestIdOf(request.headers['x-request-id'], randomUUID)
    let hasBody = false
    let isStray = true
    try {
      const target = targetOf(request)
      const segments = splitPath(target.path)
      if (request.method === 'OPTIONS') return preflight(request, response, segments, requestId)
      const match = findRoute(request, segments)
      hasBody = match.route.binding.body !== ''
      isStray = false
      const envelope = envelopeOf(request, requestId)
      const reply = await corridor(match.route.endpoint as E, envelope, () =>
        readRequest(request, match, target.query),
      )
      send(request, response, 200, reply.json(), requestId, {})
    } catch (thrown) {
      const error = thrown instanceof StatusError ? thrown : internal(thrown)
      if (isStray) onStray(requestId, error)
      send(
        request,
        response,
        error.http,
        errorBody(error, errorDomain, hasBody),
        requestId,
        challenged(error.headers),
      )
    }
  }

  function findRoute(request: IncomingMessage, segments: string[]): Match {
    const verb = verbOf(request)
    const match = routes.match(verb, segments)
    if (match) return match
    const others = routes.find(segments)
    const get = others.get('GET')
    if (get && request.method === 'POST' && isForm(request)) return get
    if (others.size === 0) throw noSuchPath()
    throw methodNotAllowed(allowed(others))
  }

  function preflight(
    request: IncomingMessage,
    response: ServerResponse,
    segments: string[],
    requestId: string,
  ): void {
    const others = routes.find(segments)
    if (others.size === 0) throw noSuchPath()
    send(request, response, 204, '', requestId, { allow: allowed(others) })
  }

  function send(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    body: string,
    requestId: string,
    more: Record<string, string>,
  ): void {
    if (response.headersSent || response.destroyed) return
    const headers = [...fixedHeaders, 'x-request-id', requestId]
    if (status !== 204) headers.push('content-length', String(Buffer.byteLength(body)))
    for (const [name, value] of Object.entries(more)) headers.push(name, value)
    const { origin } = request.headers
    if (origin !== undefined) headers.push(...corsHeaders(corsOrigins, origin, request.method === 'OPTIONS'))
    // What is left of a refused body would be read as the next request.
    if (!request.complete || isDraining()) headers.push('connection', 'close')
    response.writeHead(status, headers)
    response.end(request.method === 'HEAD' ? undefined : body)
  }

  function challenged(headers: Record<string, string>): Record<string, string> {
    const challenge = headers['www-authenticate']
    if (challenge === undefined) return headers
    const realm = `Bearer realm="${baseUrl}"`
    return { ...headers, 'www-authenticate': challenge === '' ? realm : `${realm}, ${challenge}` }
  }

  return handle
}

function allowed(matches: Map<string, Match>): string {
  const verbs = [...matches.keys()]
  return [...verbs, ...(verbs.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}

/** A long filter may be sent as a form: POST, overridden to GET. */
function verbOf(request: IncomingMessage): string {
  if (request.method === 'HEAD') return 'GET'
  const override = request.headers['x-http-method-override']
  if (request.method === 'POST' && override === 'GET' && isForm(request)) return 'GET'
  return request.method ?? ''
}

function targetOf(request: IncomingMessage): { path: string; query: string } {
  const url = request.url ?? ''
  if (url.length > longestUrl) throw tooLarge(`the URL must be at most ${longestUrl} bytes`, 414)
  // A proxy may send the absolute form.
  const relative = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '') || '/'
  const at = relative.indexOf('?')
  return at < 0
    ? { path: relative, query: '' }
    : { path: relative.slice(0, at), query: relative.slice(at + 1) }
}

async function readRequest(request: IncomingMessage, match: Match, query: string) {
  const { binding } = match.route
  if (binding.body !== '') return bindRequest(match, query, await readJsonText(request))
  const form = request.method === 'POST' && isForm(request) ? await readText(request) : ''
  return bindRequest(match, [query, form].filter(Boolean).join('&'), '')
}

function envelopeOf(request: IncomingMessage, requestId: string): Envelope {
  return {
    door: 'rest',
    requestId,
    authorization: request.headers.authorization,
    timeout: timeoutOf(request.headers['grpc-timeout']),
  }
}

const unitMilliseconds: Record<string, number> = { H: 3.6e6, M: 6e4, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

function timeoutOf(header: string | string[] | undefined): number {
  if (header === undefined) return longestCall
  const [, amount, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? []
  if (amount === undefined)
    throw malformed('the header Grpc-Timeout must be a number and a unit, such as 10S')
  return Math.min(longestCall, Number(amount) * (unitMilliseconds[unit] ?? 0))
}
