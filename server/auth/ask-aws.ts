// The call to AWS itself.
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { AskAws } from './aws.ts'
import { awsHost } from './aws.ts'
import { OutboundError } from './outbound.ts'

const patience = 5000
const largest = 64 * 1024

export const askAwsOverNetwork: AskAws = async ({ path, headers }) => {
  const body = await new Promise<string>((resolve, reject) => {
    const asked = request(
      { host: awsHost, path, method: 'POST', headers: headers.flat(), signal: AbortSignal.timeout(patience) },
      (answer) => {
        if (answer.statusCode !== 200) reject(new OutboundError(`AWS answered ${answer.statusCode}`))
        else text(answer).then(resolve, (cause) => reject(new OutboundError('AWS took too long', { cause })))
      },
    )
    asked.on('error', (cause) => reject(new OutboundError('AWS cannot be reached', { cause })))
    asked.on('close', () => reject(new OutboundError('AWS closed the connection')))
    asked.on('upgrade', (_, socket) => socket.destroy())
    asked.end()
  })
  if (body.length > largest) throw new OutboundError('AWS answered too much')
  try {
    const { Account, Arn, UserId } = JSON.parse(body).GetCallerIdentityResponse.GetCallerIdentityResult
    return { account: String(Account), arn: String(Arn), userId: String(UserId) }
  } catch (cause) {
    throw new OutboundError('AWS answered something else', { cause })
  }
}
