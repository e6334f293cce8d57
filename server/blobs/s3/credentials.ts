import { readFile } from 'node:fs/promises'
import { type Exchange, readText } from './exchange.ts'
import { S3Failure } from './s3-failure.ts'
import type { StaticCredentials, WebIdentity } from './s3-options.ts'
import { elementText } from './xml.ts'

export type GetCredentials = () => Promise<StaticCredentials>

/** Credentials are replaced this long before they expire, so that those of a running request do not expire. */
const marginMs = 5 * 60_000
/** The time between a failed exchange and the next one, as long as the old credentials are valid. */
const retryDelayMs = 30_000
const idleTimeoutMs = 10_000

/** Exchanges the token in a file at STS. Keeps the credentials until shortly before they expire. */
export function webIdentityCredentials(
  identity: WebIdentity,
  region: string,
  exchange: Exchange,
  now: () => number,
): GetCredentials {
  let current: { credentials: StaticCredentials; expiresAt: number } | undefined
  let refreshTime = 0
  let refreshing: Promise<StaticCredentials> | undefined

  async function refresh(): Promise<StaticCredentials> {
    try {
      current = await assumeRole(identity, region, exchange)
      refreshTime = current.expiresAt - marginMs
    } catch (error) {
      // The old credentials are good for some minutes more.
      if (current === undefined || current.expiresAt <= now()) throw error
      refreshTime = now() + retryDelayMs
    } finally {
      refreshing = undefined
    }
    return current.credentials
  }

  return async () => {
    if (current && now() < Math.min(refreshTime, current.expiresAt)) return current.credentials
    refreshing ??= refresh()
    return refreshing
  }
}

async function assumeRole(identity: WebIdentity, region: string, exchange: Exchange) {
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: identity.roleArn,
    RoleSessionName: identity.sessionName ?? 'stemma',
    WebIdentityToken: (await readFile(identity.tokenFile, 'utf8')).trim(),
  })
  const response = await exchange.send({
    method: 'POST',
    url: new URL(identity.stsEndpoint ?? `https://sts.${region}.amazonaws.com/`),
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/xml' },
    body: form.toString(),
    idleTimeoutMs,
  })
  const xml = await readText(response)
  if (response.statusCode !== 200) throw new S3Failure(response.statusCode ?? 0, xml)
  return readCredentials(xml)
}

function readCredentials(xml: string) {
  const accessKeyId = elementText(xml, 'AccessKeyId')
  const secretAccessKey = elementText(xml, 'SecretAccessKey')
  const expiresAt = Date.parse(elementText(xml, 'Expiration') ?? '')
  if (!accessKeyId || !secretAccessKey || Number.isNaN(expiresAt)) {
    throw new Error('the response of STS contains no credentials')
  }
  const sessionToken = elementText(xml, 'SessionToken')
  return { credentials: { accessKeyId, secretAccessKey, sessionToken }, expiresAt }
}
