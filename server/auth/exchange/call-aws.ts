import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { AwsCaller } from '../../claims/aws.ts'
import { OutboundError } from '../outbound/outbound.ts'
import type { AwsRequest, CallAws } from './aws-request.ts'
import { awsHost } from './aws-request.ts'

const timeoutMs = 5000
const maxBodyBytes = 64 * 1024

/** The address of AWS. Tests use a server of their own. */
export type AwsEndpoint = { host: string; port?: number; ca?: string }

/** There is no connection to AWS. Nothing was sent, so the request of the caller cannot be the reason. */
export class AwsUnreachableError extends OutboundError {}

/** Sends a signed request to AWS and returns the caller that AWS names. */
export const callAwsOverNetwork: CallAws = (awsRequest) => callAwsAt({ host: awsHost }, awsRequest)

export async function callAwsAt(endpoint: AwsEndpoint, awsRequest: AwsRequest): Promise<AwsCaller> {
  const body = await send(endpoint, awsRequest)
  try {
    const { Account, Arn, UserId } = JSON.parse(body).GetCallerIdentityResponse.GetCallerIdentityResult
    return { account: String(Account), arn: String(Arn), userId: String(UserId) }
  } catch (cause) {
    throw new OutboundError('the response of AWS cannot be read', { cause })
  }
}

function send(endpoint: AwsEndpoint, { path, headers }: AwsRequest): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs)
  return new Promise((resolve, reject) => {
    const options = { ...endpoint, path, method: 'POST', headers: headers.flat(), signal }
    let isConnected = false
    let hasResponse = false
    const outgoing = request(options, (response) => {
      hasResponse = true
      readBody(response).then(resolve, reject)
    })
    outgoing.on('socket', (socket) => {
      if (outgoing.reusedSocket) isConnected = true
      else
        socket.once('secureConnect', () => {
          isConnected = true
        })
    })
    outgoing.on('error', (cause) => {
      const Failure = isConnected ? OutboundError : AwsUnreachableError
      reject(new Failure('AWS cannot be reached', { cause }))
    })
    outgoing.on('close', () => {
      // Also emitted when a response is complete, before its body has been read.
      if (!hasResponse) reject(new OutboundError('AWS closed the connection'))
    })
    outgoing.on('upgrade', (_, socket) => socket.destroy())
    outgoing.end()
  })
}

/** Always destroys the response, so that an error or a body that is too large leaves no connection with unread data. */
async function readBody(response: IncomingMessage): Promise<string> {
  try {
    if (response.statusCode !== 200)
      throw new OutboundError(`AWS answered with status ${response.statusCode}`)
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of response) {
      size += chunk.length
      if (size > maxBodyBytes) throw new OutboundError(`AWS sent more than ${maxBodyBytes} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString()
  } catch (cause) {
    throw cause instanceof OutboundError ? cause : new OutboundError('AWS stopped responding', { cause })
  } finally {
    response.destroy()
  }
}
