import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { awsRequestFault, readAwsRequest } from './aws-request.ts'

const identity = `${'a'.repeat(40)}/${'b'.repeat(16)}`
const audience = 'https://auth.example.com'
const now = Date.UTC(2026, 10, 15, 12, 0, 0)
const scope = 'AKIAEXAMPLE/20261115/us-east-1/sts/aws4_request'
const signed = 'chainguard-audience;chainguard-identity;host;x-amz-date'
const signature = 'f'.repeat(64)

const validHeaders = {
  host: 'sts.amazonaws.com',
  'x-amz-date': '20261115T120000Z',
  'chainguard-audience': audience,
  'chainguard-identity': identity,
  authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${signed}, Signature=${signature}`,
}

function bearerOf(
  change: Record<string, string> = {},
  extra: string[] = [],
  target = '/?Action=GetCallerIdentity&Version=2011-06-15',
) {
  const lines = Object.entries({ ...validHeaders, ...change }).map(([name, value]) => `${name}: ${value}`)
  const text = [`POST ${target} HTTP/1.1`, ...lines, ...extra, '', ''].join('\r\n')
  return Buffer.from(text).toString('base64url')
}

const faultOf = (bearer: string) => {
  const request = readAwsRequest(bearer)
  return request ? awsRequestFault(request, identity, [audience], now) : 'unreadable'
}

describe('AWS bearer tokens', () => {
  test('that are bound to this server, signed and fresh are accepted', () =>
    assert.equal(faultOf(bearerOf()), undefined))

  test('with another action, host, identity, audience or time, or with a repeated header, are refused', () => {
    const changes = [
      ...[
        { host: 'evil.test' },
        { 'chainguard-identity': 'x' },
        { 'chainguard-audience': 'https://else.test' },
      ],
      ...[
        { 'x-amz-date': '20261115T113000Z' },
        { 'x-amz-date': '20261115T121000Z' },
        { 'x-amz-date': 'now' },
      ],
    ]
    for (const change of changes)
      assert.ok(faultOf(bearerOf(change as Record<string, string>)), JSON.stringify(change))
    assert.ok(faultOf(bearerOf({}, [], '/?Action=AssumeRole')))
    for (const name of Object.keys(validHeaders))
      assert.ok(faultOf(bearerOf({}, [`${name}: x`])), `${name} twice`)
  })

  test('that announce a body, or control the connection to AWS, are refused', () => {
    for (const line of [
      'content-length: 12',
      'Transfer-Encoding: chunked',
      'expect: 100-continue',
      'connection: x',
    ])
      assert.match(faultOf(bearerOf({}, [line])) ?? '', /must not have/, line)
    assert.equal(
      faultOf(bearerOf({}, ['content-length: 0', 'user-agent: x', 'accept-encoding: gzip'])),
      undefined,
    )
  })

  test('whose signature does not cover identity and audience, or is for another service, are refused', () => {
    const unbound = 'host;x-amz-date'
    const authorizations = [
      `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${unbound}, Signature=${signature}`,
      `AWS4-HMAC-SHA256 Credential=${scope}, XSignedHeaders=${signed}, SignedHeaders=${unbound}, Signature=${signature}`,
      `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${signed}, SignedHeaders=${unbound}, Signature=${signature}`,
      `AWS4-HMAC-SHA256 Credential=${scope}SignedHeaders=${signed}, SignedHeaders=${unbound}, Signature=${signature}`,
      `AWS4-HMAC-SHA256 Credential=${scope.replace('sts', 's3')}, SignedHeaders=${signed}, Signature=${signature}`,
    ]
    for (const authorization of authorizations) assert.ok(faultOf(bearerOf({ authorization })), authorization)
  })

  test('that do not encode one well-formed request are not read', () => {
    for (const line of ['bad name: x', 'no colon', 'x: a\u0001b', 'x: a\nb'])
      assert.equal(faultOf(bearerOf({}, [line])), 'unreadable', line)
    for (const bearer of [
      '',
      'x',
      Buffer.from('GET / HTTP/1.1\r\n\r\n').toString('base64url'),
      'a'.repeat(9000),
    ])
      assert.equal(faultOf(bearer), 'unreadable', bearer.slice(0, 20))
  })
})
