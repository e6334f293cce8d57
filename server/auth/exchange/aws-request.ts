// AWS bearer tokens. Each encodes a signed request for GetCallerIdentity, which only AWS can answer. The request is
// checked here and sent to AWS unchanged; the response of AWS says who signed it.
import type { AwsCaller } from '../../claims/aws.ts'

export type AwsRequest = { path: string; headers: [string, string][] }
/** Sends the request to AWS. A dependency, because only this step needs the network. */
export type CallAws = (request: AwsRequest) => Promise<AwsCaller>

export const awsHost = 'sts.amazonaws.com'

const maxBearerLength = 8 * 1024
const maxAgeMs = 15 * 60_000
const maxClockAheadMs = 5 * 60_000
const getCallerIdentity = '/?Action=GetCallerIdentity&Version=2011-06-15'
const audienceHeader = 'chainguard-audience'
const identityHeader = 'chainguard-identity'
/** The signature must cover these headers: they bind the request to AWS, a time, this server and one identity. */
const boundHeaders = ['host', 'x-amz-date', audienceHeader, identityHeader]
/** The whole Authorization header: each parameter exactly once, and a credential for the service `sts`. */
const authorizationPattern =
  /^AWS4-HMAC-SHA256 Credential=[A-Z0-9]+\/\d{8}\/us-east-1\/sts\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=[0-9a-f]{64}$/
const requiredHeaders = ['authorization', ...boundHeaders]
/**
 * Headers that apply to one connection or announce a body (RFC 9110 section 7.6.1). The request has no body, so AWS would
 * take the next request on the connection, which may be that of another caller, for the body.
 */
const connectionHeaders = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const headerLine = /^([A-Za-z0-9-]+): ?([ -~]*)$/

/** The request that a bearer token encodes; undefined if it encodes none. */
export function readAwsRequest(bearer: string): AwsRequest | undefined {
  if (bearer.length > maxBearerLength || !/^[A-Za-z0-9_-]+=*$/.test(bearer)) return undefined
  const [head = ''] = Buffer.from(bearer, 'base64url').toString('latin1').split('\r\n\r\n')
  const [requestLine = '', ...lines] = head.split('\r\n')
  const [, path] = /^POST (\S+) HTTP\/1\.1$/.exec(requestLine) ?? []
  if (path === undefined || !lines.every((line) => headerLine.test(line))) return undefined
  const headers = lines.map((line): [string, string] => {
    const [, name = '', value = ''] = headerLine.exec(line) ?? []
    return [name.toLowerCase(), value]
  })
  return { path, headers }
}

/** The id of the access key in the Authorization header, which is not verified; empty if there is none. */
export function accessKeyOf({ headers }: AwsRequest): string {
  const [, value = ''] = headers.find(([name]) => name === 'authorization') ?? []
  return /Credential=([A-Z0-9]+)\//.exec(value)?.[1] ?? ''
}

/** Describes what is wrong with the request; undefined if it may be sent to AWS. */
export function awsRequestFault(
  { path, headers }: AwsRequest,
  identity: string,
  audiences: readonly string[],
  now: number,
): string | undefined {
  const headersNamed = (name: string) =>
    headers.flatMap(([header, value]) => (header === name ? [value] : []))
  const headerOf = (name: string) => headersNamed(name)[0] ?? ''
  const wrongHeader = requiredHeaders.find((name) => headersNamed(name).length !== 1)
  if (wrongHeader) return `the request must have the header ${wrongHeader} exactly once`
  const [connectionHeader] = headers.find(([name]) => connectionHeaders.has(name)) ?? []
  if (connectionHeader) return `the request must not have the header ${connectionHeader}`
  if (headersNamed('content-length').some((length) => length !== '0'))
    return 'the request must not have a body'
  if (path !== getCallerIdentity) return 'the request is not for GetCallerIdentity'
  if (headerOf('host') !== awsHost) return 'the request is for another host'
  if (headerOf(identityHeader) !== identity) return 'the request is bound to another identity'
  if (!audiences.includes(headerOf(audienceHeader))) return 'the request is bound to another server'
  const signed = authorizationPattern.exec(headerOf('authorization'))?.[1]?.split(';') ?? []
  if (!boundHeaders.every((name) => signed.includes(name)))
    return `the signature does not cover all of ${boundHeaders.join(', ')}`
  const age = now - parseTime(headerOf('x-amz-date'))
  if (!(age <= maxAgeMs && age >= -maxClockAheadMs))
    return 'the request is too old, or its time is in the future'
  return undefined
}

/** In milliseconds. NaN if the text is not a time; every comparison with NaN is false. */
function parseTime(text: string): number {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? []
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}
