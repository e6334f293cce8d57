import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { Secret, TOTP, URI } from 'otpauth'
import { base32Of, codeOf, matchingStep, stepAt, totpUri } from './totp.ts'

describe('one-time passwords', () => {
  const secret = Buffer.from('12345678901234567890')

  test('are those of RFC 6238, appendix B', () => {
    const vectors: [seconds: number, code: string][] = [
      [59, '94287082'],
      [1111111109, '07081804'],
      [1111111111, '14050471'],
      [1234567890, '89005924'],
      [2000000000, '69279037'],
      [20000000000, '65353130'],
    ]
    // The vectors have eight digits; ours are the last six of these.
    for (const [seconds, code] of vectors) assert.equal(codeOf(secret, stepAt(seconds * 1000)), code.slice(2))
  })

  test('agree with another implementation, also about the URI', () => {
    for (let round = 0; round < 50; round++) {
      const bytes = randomBytes(20)
      const time = randomBytes(6).readUIntBE(0, 5)
      const other = new TOTP({ secret: new Secret({ buffer: new Uint8Array(bytes).buffer }) })
      assert.equal(codeOf(bytes, stepAt(time)), other.generate({ timestamp: time }))
      const parsed = URI.parse(totpUri(bytes, 'Stemma at localhost', 'ada+1@example.com'))
      assert.equal(parsed.secret.base32, base32Of(bytes))
      assert.equal(parsed.issuer, 'Stemma at localhost')
      assert.equal(parsed.label, 'ada+1@example.com')
      assert.equal((parsed as TOTP).generate({ timestamp: time }), codeOf(bytes, stepAt(time)))
    }
  })

  test('are accepted one step early and one step late', () => {
    const now = 1_700_000_000_000
    const step = stepAt(now)
    for (const drift of [-1, 0, 1])
      assert.equal(matchingStep(secret, codeOf(secret, step + drift), now), step + drift)
    for (const drift of [-2, 2])
      assert.equal(matchingStep(secret, codeOf(secret, step + drift), now), undefined)
    const code = codeOf(secret, step)
    assert.equal(matchingStep(secret, ` ${code.slice(0, 3)} ${code.slice(3)} `, now), step)
    for (const wrong of ['', '0', `${code}0`, 'abcdef', `${code.slice(1)}${'é'}`])
      assert.equal(matchingStep(secret, wrong, now), undefined)
  })
})
