// Which web pages may call. Tokens travel in a header, never in cookies, so no credentials are allowed.

/** Also what published clients of others send: who they are, the id of a request, and where it belongs. */
const sentHeaders = [
  ...['authorization', 'content-type', 'if-match', 'user-agent', 'x-request-id', 'cgclientid', 'cgrequestid'],
  ...['traceparent', 'tracestate', 'baggage'],
]

const preflightHeaders = [
  ...['access-control-allow-methods', 'GET, HEAD, POST, PATCH, PUT, DELETE'],
  ...['access-control-allow-headers', sentHeaders.join(', ')],
  ...['access-control-max-age', '7200'],
]

export function corsHeaders(allowed: readonly string[], origin: string, isPreflight: boolean): string[] {
  if (!allowed.includes(origin)) return ['vary', 'Origin']
  return [
    ...['vary', 'Origin', 'access-control-allow-origin', origin],
    ...['access-control-expose-headers', 'etag, retry-after, x-request-id, ratelimit, ratelimit-policy'],
    ...(isPreflight ? preflightHeaders : []),
  ]
}
