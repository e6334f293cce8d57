// The request that carries an event to a sink, with a token and, if there are secrets, signatures.
import type { OutboundRequest } from '../auth/outbound/send-request.ts'
import type { CloudEvent } from '../cloud-events/cloud-event.ts'
import { binaryMessage, structuredMessage } from '../cloud-events/http-message.ts'
import { webhookSignature } from '../crypto/webhook-secret.ts'
import type { TokenDependencies } from './webhook-token.ts'
import { webhookToken } from './webhook-token.ts'

export type RequestDependencies = TokenDependencies & {
  /** The host name of this server. */
  origin: string
}

export type Addressee = {
  /** The group of the subscription. */
  group: string
  isStructured: boolean
  /** The secrets that sign the request. */
  secrets: readonly string[]
}

export async function requestOf(
  deps: RequestDependencies,
  event: CloudEvent,
  { group, isStructured, secrets }: Addressee,
): Promise<OutboundRequest> {
  const { headers, body } = isStructured ? structuredMessage(event) : binaryMessage(event)
  const id = event.attributes.id ?? ''
  const time = Math.floor(deps.now() / 1000)
  return {
    method: 'POST',
    headers: {
      ...headers,
      authorization: `Bearer ${await webhookToken(deps, group, event.data)}`,
      'webhook-id': id,
      'webhook-timestamp': String(time),
      ...(secrets.length > 0 && { 'webhook-signature': webhookSignature(secrets, { id, time, body }) }),
      'webhook-request-origin': deps.origin,
      'content-length': String(Buffer.byteLength(body)),
    },
    body,
  }
}

/**
 * The headers of a request as people see them. The token and the signature are hidden, because
 * anyone who has one of them could send the request again.
 */
export const withoutSecrets = ({ headers = {} }: OutboundRequest): Record<string, string> => ({
  ...headers,
  ...('authorization' in headers && { authorization: 'Bearer …' }),
  ...('webhook-signature' in headers && { 'webhook-signature': '…' }),
})
