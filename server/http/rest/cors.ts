// The CORS headers, which state which web pages may call the API. Tokens are sent in a header and never in cookies, so
// `access-control-allow-credentials` is not sent.

/** Published clients send `cgclientid`, `cgrequestid` and the trace context, which is the last three headers. */
const requestHeaders = [
  ...[
    'authorization',
    'content-type',
    'if-match',
    'idempotency-key',
    'user-agent',
    'x-http-method-override',
    'x-request-id',
    'cgclientid',
    'cgrequestid',
  ],
  ...['traceparent', 'tracestate', 'baggage'],
]

const responseHeaders = [
  ...['etag', 'idempotent-replayed', 'stemma-warning', 'retry-after', 'x-request-id'],
  ...['ratelimit', 'ratelimit-policy'],
]

const preflightHeaders = [
  ...['access-control-allow-methods', 'GET, HEAD, POST, PATCH, PUT, DELETE'],
  ...['access-control-allow-headers', requestHeaders.join(', ')],
  ...['access-control-max-age', '7200'],
]

export function corsHeaders(allowed: readonly string[], origin: string, isPreflight: boolean): string[] {
  if (!allowed.includes(origin)) return ['vary', 'Origin']
  return [
    ...['vary', 'Origin', 'access-control-allow-origin', origin],
    ...['access-control-expose-headers', responseHeaders.join(', ')],
    ...(isPreflight ? preflightHeaders : []),
  ]
}
