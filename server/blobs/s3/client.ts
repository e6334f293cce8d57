// Signed requests to one bucket, repeated if they fail.
import type { IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import type { GetCredentials } from './credentials.ts'
import { type Exchange, type RequestBody, readText } from './exchange.ts'
import { mayRetry, S3Failure } from './s3-failure.ts'
import type { S3Limits, S3Options, StaticCredentials } from './s3-options.ts'

export type S3Request = {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Undefined for requests about the bucket. */
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: RequestBody | string
  /** Whether S3 copies or assembles an object before it answers. */
  isSlow?: boolean
  /** Ends the request, and its tries. */
  signal?: AbortSignal | undefined
}

export type S3Client = ReturnType<typeof makeClient>

export function makeClient(
  options: S3Options,
  limits: S3Limits,
  exchange: Exchange,
  getCredentials: GetCredentials,
) {
  const bucketUrl = bucketUrlOf(options)
  /** Signing keys, one for each day and credential. */
  const signingKeys = new Map<string, ArrayBuffer>()

  function signer(request: S3Request, credentials: StaticCredentials, signQuery: boolean): AwsV4Signer {
    if (signingKeys.size > 16) signingKeys.clear()
    const url = new URL(request.key === undefined ? bucketUrl : `${bucketUrl}/${request.key}`)
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value)
    const { accessKeyId, secretAccessKey, sessionToken } = credentials
    return new AwsV4Signer({
      method: request.method,
      url: url.href,
      headers: request.headers ?? {},
      accessKeyId,
      secretAccessKey,
      ...(sessionToken ? { sessionToken } : {}),
      service: 's3',
      region: options.region,
      cache: signingKeys,
      signQuery,
    })
  }

  async function tryOnce(request: S3Request): Promise<IncomingMessage> {
    const { url, headers } = await signer(request, await getCredentials(), false).sign()
    const response = await exchange.send({
      method: request.method,
      url,
      headers: Object.fromEntries(headers),
      body: request.body,
      idleTimeoutMs: request.isSlow ? limits.slowIdleTimeoutMs : limits.idleTimeoutMs,
      signal: request.signal,
    })
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return response
    throw new S3Failure(status, await readText(response))
  }

  /** Retries after temporary failures, with random pauses so that many requests are not repeated at the same time. */
  async function withRetries<T>(attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt()
      } catch (error) {
        if (tries >= limits.attempts || !mayRetry(error)) throw error
        await pause(limits.firstPauseMs * 2 ** (tries - 1) * (0.5 + Math.random() / 2))
      }
    }
  }

  return {
    /** The caller must read the body of the response. */
    send: (request: S3Request): Promise<IncomingMessage> => withRetries(() => tryOnce(request)),
    /** S3 can report a failed copy or assembly after it has sent status 200, so the body decides. */
    sendForText: (request: S3Request): Promise<string> =>
      withRetries(async () => {
        const response = await tryOnce(request)
        const xml = await readText(response)
        if (/<Error[ >]/.test(xml)) throw new S3Failure(500, xml)
        return xml
      }),
    /** Discards the body and returns the headers. */
    sendForHeaders: (request: S3Request) =>
      withRetries(async () => {
        const response = await tryOnce(request)
        await readText(response)
        return response.headers
      }),
    async presign(key: string, seconds: number): Promise<string> {
      const request: S3Request = { method: 'GET', key, query: { 'X-Amz-Expires': String(seconds) } }
      const { url } = await signer(request, await getCredentials(), true).sign()
      return url.href
    },
  }
}

/** The URL of the bucket, without a slash at the end. */
export function bucketUrlOf({
  bucket,
  region,
  endpoint,
  pathStyle = endpoint !== undefined,
}: S3Options): string {
  // Other characters would have to be encoded in paths and signatures.
  if (!/^[\w.-]{3,63}$/.test(bucket)) throw new TypeError('invalid name of a bucket')
  const url = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`)
  if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return pathStyle ? `${base}/${bucket}` : base
}
