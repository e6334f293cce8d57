// The registry door: finds the endpoint of a request and writes its answer. OCI Distribution 1.1.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Code } from '../aip/code.ts'
import { allowHeader, methodNotAllowed, StatusError } from '../aip/errors.ts'
import { registryError } from '../aip/registry-error.ts'
import type { BlobErrorCode } from '../blobs/blob-error.ts'
import { BlobError } from '../blobs/blob-error.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen, recover } from '../wire/maybe-promise.ts'
import { errorAnswer, hasBody, send } from './answers.ts'
import { deleteBlob, getBlob } from './blobs.ts'
import { call } from './call.ts'
import { basicChallenge, bearerChallenge } from './challenge.ts'
import type { EndpointHandler, RegistryDependencies, RegistryResponse } from './door-context.ts'
import { deleteManifest, getManifest, putManifest } from './manifests.ts'
import { neededAccess, noAccess } from './needed-access.ts'
import { getReferrers } from './referrers.ts'
import type { OciRoute } from './route.ts'
import { routeOf } from './route.ts'
import { getTagHistory } from './tag-history.ts'
import { getTags } from './tags.ts'
import { getToken, postToken } from './token.ts'
import { beginUpload, cancelUpload, finishUpload, getUpload, patchUpload } from './uploads.ts'

export type RegistryHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  target: { path: string; query: string; address: string; requestId: string; headers: readonly string[] },
) => MaybePromise<void>

/** How long each call of a request may take, in milliseconds. The time to send or receive a blob is not part of it. */
const callTimeoutMs = 60_000

const noQuery = new URLSearchParams()

export function openRegistry(deps: RegistryDependencies): RegistryHandler {
  return (request, response, { path, query: queryText, address, requestId, headers: common }) => {
    const route = routeOf(path)
    const name = route && 'name' in route ? route.name : ''
    const method = request.method ?? ''
    const query = queryText === '' ? noQuery : new URLSearchParams(queryText)
    let needed = noAccess
    const headers = [...common, 'docker-distribution-api-version', 'registry/2.0']

    function answer(): MaybePromise<void> {
      const endpoint = endpointOf(route, method)
      needed = neededAccess(route, method, query)
      const envelope: Envelope = {
        door: 'oci',
        requestId,
        authorization: request.headers.authorization,
        address,
        timeout: callTimeoutMs,
        ifMatch: undefined,
        idempotencyKey: undefined,
        userAgent: request.headers['user-agent'],
        arriveTime: deps.now(),
        repo: needed.repo,
      }
      return andThen(endpoint(deps, { request, response, headers, name, query, envelope }), (result) => {
        if (result) send({ request, response, headers }, result)
      })
    }

    function fail(error: unknown): void {
      if (isUnreported(error)) deps.onError(error)
      if (response.headersSent) return void response.destroy()
      const challenge = (refusal: StatusError) =>
        route?.kind === 'token'
          ? basicChallenge(deps.baseUrl)
          : bearerChallenge(deps.baseUrl, needed.scopes, refusal, request.headers.authorization !== undefined)
      send({ request, response, headers }, errorAnswer(error, name, challenge))
    }

    // `send` reads `request.complete`. For a request with a body, its value is correct only after
    // the parser's callback for the headers has returned.
    return recover(hasBody(request) ? () => Promise.resolve().then(answer) : answer, fail)
  }
}

const faults = new Set<BlobErrorCode>(['unavailable', 'no-space'])

/** The corridor reports the errors of calls, which are status errors. */
const isUnreported = (error: unknown) =>
  error instanceof BlobError ? faults.has(error.code) : !(error instanceof StatusError)

/** HEAD is a GET whose body is not sent. */
function endpointOf(route: OciRoute | undefined, method: string): EndpointHandler {
  if (!route) throw registryError('UNSUPPORTED', Code.NOT_FOUND, 'the registry has no such path')
  if (route.kind === 'invalid') throw invalidPart[route.part]
  const handlers = handlersOf(route)
  const handler = handlers[method === 'HEAD' ? 'GET' : method]
  if (handler) return handler
  throw methodNotAllowed(allowHeader(Object.keys(handlers)))
}

/** The handler of each method that the route has. */
function handlersOf(route: Exclude<OciRoute, { kind: 'invalid' }>): Record<string, EndpointHandler> {
  switch (route.kind) {
    case 'base':
      return { GET: getBase }
    case 'catalog':
      throw noCatalog
    case 'token':
      return { GET: getToken, POST: postToken }
    case 'tags':
      return { GET: getTags }
    case 'manifest':
      return {
        GET: (...args) => getManifest(...args, route.reference),
        PUT: (...args) => putManifest(...args, route.reference),
        DELETE: (...args) => deleteManifest(...args, route.reference),
      }
    case 'blob':
      return {
        GET: (...args) => getBlob(...args, route.digest),
        DELETE: (...args) => deleteBlob(...args, route.digest),
      }
    case 'uploads':
      return { POST: beginUpload }
    case 'upload':
      return {
        GET: (...args) => getUpload(...args, route.id),
        PATCH: (...args) => patchUpload(...args, route.id),
        PUT: (...args) => finishUpload(...args, route.id),
        DELETE: (...args) => cancelUpload(...args, route.id),
      }
    case 'history':
      return { GET: (...args) => getTagHistory(...args, route) }
    case 'referrers':
      return { GET: (...args) => getReferrers(...args, route.digest) }
  }
}

const getBase: EndpointHandler = (deps, exchange) =>
  andThen(
    call(deps, exchange, Content.method.getBase, () => ({})),
    (): RegistryResponse => ({ status: 200, headers: { 'content-type': 'application/json' }, body: '{}' }),
  )

/**
 * The catalog is an extension that some clients use; it is not a part of OCI Distribution. An empty `Allow` header means
 * that the path accepts no method (RFC 9110 section 10.2.1).
 */
const noCatalog = registryError(
  'UNSUPPORTED',
  Code.UNIMPLEMENTED,
  'this registry has no catalog; to list its repos, use the API or the command "stemma repos list"',
  { http: 405, headers: { allow: '' } },
)

const invalidPart = {
  name: registryError(
    'NAME_INVALID',
    Code.INVALID_ARGUMENT,
    'the name must be lowercase letters and digits, separated by single dots, one or two underscores, dashes or single slashes',
  ),
  digest: registryError(
    'DIGEST_INVALID',
    Code.INVALID_ARGUMENT,
    'the digest must be sha256: and 64 hexadecimal digits, or sha512: and 128',
  ),
  reference: registryError(
    'TAG_INVALID',
    Code.INVALID_ARGUMENT,
    'the tag must be at most 128 letters, digits, dots, underscores and dashes, and must not begin with a dot or dash',
  ),
}
