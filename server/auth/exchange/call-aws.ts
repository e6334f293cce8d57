import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { OutboundError } from '../outbound/outbound.ts'
import type { AwsCaller, AwsRequest } from './aws-request.ts'
import { awsHost } from './aws-request.ts'

const timeoutMs = 5000
const maxBodyLength = 64 * 1024

/** Sends a signed request to AWS and returns the caller that AWS names. */
export async function callAwsOverNetwork(awsRequest: AwsRequest): Promise<AwsCaller> {
  const body = await send(awsRequest)
  if (body.length > maxBodyLength) throw new OutboundError('the response of AWS is too large')
  try {
    const { Account, Arn, UserId } = JSON.parse(body).GetCallerIdentityResponse.GetCallerIdentityResult
    return { account: String(Account), arn: String(Arn), userId: String(UserId) }
  } catch (cause) {
    throw new OutboundError('the response of AWS cannot be read', { cause })
  }
}

function send({ path, headers }: AwsRequest): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs)
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: awsHost, path, method: 'POST', headers: headers.flat(), signal },
      (response) => {
        if (response.statusCode !== 200)
          reject(new OutboundError(`AWS answered with status ${response.statusCode}`))
        else
          text(response).then(resolve, (cause) =>
            reject(new OutboundError('AWS stopped responding', { cause })),
          )
      },
    )
    outgoing.on('error', (cause) => reject(new OutboundError('AWS cannot be reached', { cause })))
    outgoing.on('close', () => reject(new OutboundError('AWS closed the connection')))
    outgoing.on('upgrade', (_, socket) => socket.destroy())
    outgoing.end()
  })
}
