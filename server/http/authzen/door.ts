// The AuthZEN door: OpenID AuthZEN Authorization API 1.0, a thin layer over the access questions of the API. Each request
// makes one call of the API, which passes the corridor like all others.
import type { IncomingMessage } from 'node:http'
import type { DescMethod } from '@bufbuild/protobuf'
import { create, fromBinary } from '@bufbuild/protobuf'
import type { StatusError } from '../../aip/errors.ts'
import { asStatusError, methodNotAllowed, textOf } from '../../aip/errors.ts'
import type { Corridor } from '../../wire/envelope.ts'
import { onClosed } from '../../wire/on-closed.ts'
import type { Reply } from '../../wire/reply.ts'
import { asJson } from '../../wire/reply.ts'
import type { Mount } from '../dispatch.ts'
import type { DoorOptions, Endpoint } from '../door.ts'
import { securityHeaders } from '../headers.ts'
import { defaultTimeoutsMs } from '../listen/timeouts.ts'
import { openErrorRenderer } from '../rest/error-body.ts'
import type { Exchange, ResponseContext } from '../rest/exchange.ts'
import { envelopeOf } from '../rest/request.ts'
import { sendJson } from '../rest/response.ts'
import { maxDurationOf } from '../timeout.ts'
import type { AnswerRequest, CallApi } from './answer-request.ts'
import { answerEvaluation, answerEvaluations } from './evaluation.ts'
import { paths, prefix } from './metadata.ts'
import { namesOf } from './names.ts'
import { readObject } from './read-object.ts'
import { searchActions, searchResources, searchSubjects } from './search.ts'

export type AuthzenOptions<E extends Endpoint> = DoorOptions & {
  corridor: Corridor<E>
  /** All endpoints of the server, also internal ones. */
  endpoints: readonly E[]
  baseUrl: string
  corsOrigins: readonly string[]
  isDraining(): boolean
}

const answerByPath = new Map<string, AnswerRequest>([
  [paths.access_evaluation_endpoint, answerEvaluation],
  [paths.access_evaluations_endpoint, answerEvaluations],
  [paths.search_subject_endpoint, searchSubjects],
  [paths.search_resource_endpoint, searchResources],
  [paths.search_action_endpoint, searchActions],
])

export function openAuthzen<E extends Endpoint>(options: AuthzenOptions<E>): Mount {
  const context: ResponseContext = {
    ...options,
    securityHeaders: securityHeaders(options.isHttps),
    renderError: openErrorRenderer(options.errorDomain, options.baseUrl),
    lingerMs: defaultTimeoutsMs.linger,
  }
  const endpointOf = endpointsByMethod(options.endpoints)
  const offered = options.endpoints.map(({ method }) => method).filter(({ isInternal }) => !isInternal)
  const names = namesOf(offered)
  return {
    // Called for every REST request. The prefix is compared first: a look-up hashes the whole path.
    isFor: (path) => path.startsWith(prefix) && answerByPath.has(path),
    sendsContinue: true,
    writesHeaders: true,
    async handle(request, response, { path, requestId: loggedId, address }) {
      const requestId = sentIdOf(request) ?? loggedId
      const exchange: Exchange = { request, response, requestId, match: undefined }
      if (request.method === 'OPTIONS') return sendJson(context, exchange, 204, asJson(''), ['allow', 'POST'])
      const answerRequest = request.method === 'POST' ? answerByPath.get(path) : undefined
      if (!answerRequest) {
        const error = methodNotAllowed('POST')
        options.onRejected(loggedId, error, address)
        return sendFault(context, exchange, error)
      }
      let reply: Reply | undefined
      const call: CallApi = async (method, make) => {
        const endpoint = endpointOf(method)
        const envelope = envelopeOf(request, loggedId, options.addressOf, maxDurationOf(endpoint.method))
        const read = async () => create(method.input, make(await readObject(request, response)))
        reply = await options.corridor(endpoint, { ...envelope, door: 'authzen' }, read)
        if (reply.onSent) onClosed(response, reply.onSent)
        return fromBinary(method.output, reply.bytes())
      }
      try {
        const answer = asJson(JSON.stringify(await answerRequest(call, names)))
        sendJson(context, exchange, 200, answer, Object.entries(reply?.headers ?? {}).flat())
      } catch (error) {
        sendFault(context, exchange, asStatusError(error))
      }
    },
  }
}

function endpointsByMethod<E extends Endpoint>(endpoints: readonly E[]): (method: DescMethod) => E {
  const byMethod = new Map<DescMethod, E>(endpoints.map((endpoint) => [endpoint.method.desc, endpoint]))
  return (method) => {
    const endpoint = byMethod.get(method)
    if (!endpoint) throw new Error(`${method.parent.typeName}.${method.name} is not served`)
    return endpoint
  }
}

/** The body of an error is its message as a JSON string (AuthZEN 1.0 section 10.1.2). */
function sendFault(context: ResponseContext, exchange: Exchange, error: StatusError): void {
  const text = textOf(error).replace(/^page_token: /, 'page.token: ')
  sendJson(context, exchange, error.http, asJson(JSON.stringify(text)), context.renderError(error).headers)
}

/**
 * The id of the request is echoed as it was sent, although other doors replace ids that would be unsafe in a log. In
 * logs, this door replaces them as well.
 */
function sentIdOf({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id']
  return typeof id === 'string' && /^[\x20-\x7e]{1,1024}$/.test(id) ? id : undefined
}
