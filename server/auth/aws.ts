// AWS bearers: a signed request to AWS that asks "who am I?", which only AWS can answer. Everything about it is
// checked here; then it is sent on as it is, and what AWS says of its caller is believed.
import type { Identity_AWSIdentity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Patterns } from '../claims/pattern.ts'
import { matches } from '../claims/pattern.ts'

export type AwsRequest = { path: string; headers: [string, string][] }
export type AwsCaller = { account: string; arn: string; userId: string }
/** Sends the request to AWS. The one step that needs the network. */
export type AskAws = (request: AwsRequest) => Promise<AwsCaller>

export const awsHost = 'sts.amazonaws.com'

const longest = 8 * 1024
const oldest = 15 * 60_000
const soonest = 5 * 60_000
const target = '/?Action=GetCallerIdentity&Version=2011-06-15'
/** Bound to this server and this identity by being signed. */
const audienceHeader = 'chainguard-audience'
const identityHeader = 'chainguard-identity'
/** The whole of it, each part once, and for the service that is asked. */
const authorization =
  /^AWS4-HMAC-SHA256 Credential=[A-Z0-9]+\/\d{8}\/us-east-1\/sts\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=[0-9a-f]{64}$/
const single = ['authorization', 'host', 'x-amz-date', audienceHeader, identityHeader]

const headerLine = /^([A-Za-z0-9-]+): ?([ -~]*)$/

/** The request in a bearer, if that is what it is. */
export function readAwsBearer(bearer: string): AwsRequest | undefined {
  if (bearer.length > longest || !/^[A-Za-z0-9_-]+=*$/.test(bearer)) return undefined
  const [head = ''] = Buffer.from(bearer, 'base64url').toString('latin1').split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const [, path] = /^POST (\S+) HTTP\/1\.1$/.exec(first) ?? []
  if (path === undefined || !lines.every((line) => headerLine.test(line))) return undefined
  const headers = lines.map((line): [string, string] => {
    const [, name = '', value = ''] = headerLine.exec(line) ?? []
    return [name.toLowerCase(), value]
  })
  return { path, headers }
}

/** What is wrong with the request; undefined where AWS may be asked. */
export function awsFault(
  { path, headers }: AwsRequest,
  identity: string,
  audiences: readonly string[],
  now: number,
): string | undefined {
  const headerOf = (name: string) => headers.find(([one]) => one === name)?.[1] ?? ''
  const twice = single.find((name) => headers.filter(([one]) => one === name).length !== 1)
  if (twice) return `the request must have the header ${twice} once`
  if (path !== target) return 'the request asks for something else'
  if (headerOf('host') !== awsHost) return 'the request is for another host'
  if (headerOf(identityHeader) !== identity) return 'the request is bound to another identity'
  if (!audiences.includes(headerOf(audienceHeader))) return 'the request is bound to another server'
  const signed = authorization.exec(headerOf('authorization'))?.[1]?.split(';') ?? []
  const bound = ['host', 'x-amz-date', audienceHeader, identityHeader]
  if (!bound.every((name) => signed.includes(name))) return 'the request does not sign what binds it'
  const age = now - timeOf(headerOf('x-amz-date'))
  if (!(age <= oldest && age >= -soonest)) return 'the request is not of this time'
  return undefined
}

function timeOf(stamp: string): number {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp) ?? []
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

export function isAwsIdentity(
  patterns: Patterns,
  { awsAccount, awsArn, awsUserId }: Identity_AWSIdentity,
  caller: AwsCaller,
): boolean {
  return (
    awsAccount === caller.account &&
    matches(patterns, awsArn, caller.arn) &&
    matches(patterns, awsUserId, caller.userId)
  )
}
