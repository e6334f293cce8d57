import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { issuerFault, issuerRuleOf } from './issuer.ts'

const rule = (baseUrl: string, trustedIssuers: string[] = []) =>
  issuerRuleOf({ baseUrl, authUrl: 'https://auth.example.com', trustedIssuers })

describe('issuers', () => {
  const remote = rule('https://api.example.com')

  test('are https URLs', () => {
    for (const issuer of [
      'https://a.test',
      'https://a.test/',
      'https://a.test:8443/realms/x',
      'https://[::1]/x',
    ])
      assert.equal(issuerFault(issuer, remote), undefined, issuer)
    const bad = [
      '',
      'a.test',
      'ftp://a.test',
      'https://',
      'https://a b',
      'https://a.test/\n',
      'javascript:alert(1)',
    ]
    for (const issuer of [
      ...bad,
      'https://u@a.test',
      'https://a.test?x',
      'https://a.test#x',
      'https://ä.test',
    ])
      assert.ok(issuerFault(issuer, remote), issuer)
  })

  test('may use http on loopback addresses only while the base URL is loopback too', () => {
    const local = ['http://localhost:5556', 'http://127.0.0.1:1', 'http://127.9.9.9/x', 'http://[::1]:80/dex']
    for (const issuer of local) {
      assert.ok(issuerFault(issuer, remote), issuer)
      for (const base of ['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:1'])
        assert.equal(issuerFault(issuer, rule(base)), undefined, issuer)
    }
    for (const issuer of [
      'http://localhost.evil.test',
      'http://127.0.0.1.evil.test',
      'http://10.0.0.1',
      'http://a.test',
    ])
      assert.ok(issuerFault(issuer, rule('http://localhost:8080')), issuer)
  })

  test('that the operator trusts are accepted if they are spelled exactly as configured', () => {
    const trusting = rule('https://api.example.com', ['http://dex.internal:5556/dex'])
    assert.equal(issuerFault('http://dex.internal:5556/dex', trusting), undefined)
    for (const issuer of [
      'http://dex.internal:5556/dex/',
      'http://dex.internal:5556',
      'http://DEX.internal:5556/dex',
    ])
      assert.ok(issuerFault(issuer, trusting), issuer)
  })
})
