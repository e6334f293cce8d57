// Patterns of claims match the parts of a URL separately. Otherwise an attacker could match the host in a pattern by
// putting it into the path of a URL on their own host.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, toBinary } from '@bufbuild/protobuf'
import type { Identity_ClaimMatch } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitiesService, IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { checkIdentities } from '../../server/commands/check-identities.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { runStemmadInline } from '../server/stemmad.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { discoveryPath, keysPath, startIssuer } from '../sign-in/foreign-issuer.ts'

onEachStore('patterns of claims', (engine) => {
  let attacker: ForeignIssuer
  /** An issuer on the attacker's host. Its path looks like a host of somebody else. */
  let lookalike: string
  let platform: Platform
  let doors: Door[]
  before(async () => {
    attacker = await startIssuer('ES256')
    const path = '/pwn.example.com'
    lookalike = attacker.issuer + path
    const document = JSON.stringify({ issuer: lookalike, jwks_uri: attacker.issuer + keysPath })
    attacker.replaceResponse(path + discoveryPath, (_, response) => response.end(document))
    platform = await startPlatform(engine, ['--trusted-issuers', `${lookalike},${attacker.issuer}`])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await attacker.close()
  })

  const createIdentity = (claimMatch: object, door = doors[0] as Door) =>
    door.call(
      IdentitiesService.method.createIdentity,
      { parent: platform.owner.organization, identity: { name: 'robot', claimMatch: { ...claimMatch } } },
      platform.owner.token,
    )

  async function identityWith(claimMatch: object): Promise<string> {
    const { body, error } = await createIdentity(claimMatch)
    assert.ok(body, error?.message)
    return body.uid as string
  }

  /** The error code of exchanging a token with these claims for the identity, through both doors; 0 for a success. */
  async function exchangeErrorCode(identity: string, claims: Record<string, string>): Promise<number> {
    const token = await attacker.sign(claims)
    const answers = await Promise.all(
      doors.map((door) => door.call(SecurityTokenService.method.exchange, { identity }, token)),
    )
    assert.deepEqual(answers[0]?.error, answers[1]?.error)
    return answers[0]?.error?.code ?? 0
  }

  test('of issuers do not match a host name in the path of a URL, and the server fetches nothing from that URL', async () => {
    const identity = await identityWith({ issuerPattern: 'http://.+\\.example\\.com', subjectPattern: '.+' })
    assert.equal(await exchangeErrorCode(identity, { iss: lookalike }), 7)
    assert.equal(attacker.requestCounts.get(`/pwn.example.com${discoveryPath}`), undefined)
    const escapedIssuer = attacker.issuer.replaceAll('.', '\\.')
    const attackersIdentity = await identityWith({
      issuerPattern: `${escapedIssuer}(/.*)?`,
      subjectPattern: '.+',
    })
    assert.equal(
      await exchangeErrorCode(attackersIdentity, { iss: lookalike }),
      0,
      'a pattern for the host of the attacker accepts this issuer',
    )
    assert.equal(await exchangeErrorCode(attackersIdentity, { iss: attacker.issuer }), 0)
  })

  test('of audiences and other claims do not match a host name in the path or query of a URL', async () => {
    const issuer = attacker.issuer
    const pattern = 'https://.+\\.example\\.com'
    const rules = [
      [{ subject: 'robot', audiencePattern: pattern }, 'aud'],
      [{ subjectPattern: pattern }, 'sub'],
      [{ subject: 'robot', claimPatterns: { site: pattern } }, 'site'],
    ] as const
    for (const [rule, claim] of rules) {
      const identity = await identityWith({ issuer, ...rule })
      assert.equal(await exchangeErrorCode(identity, { [claim]: 'https://a.example.com' }), 0, claim)
      for (const value of ['https://evil.test/a.example.com', 'https://evil.test?a.example.com'])
        assert.equal(await exchangeErrorCode(identity, { [claim]: value }), 7, value)
    }
  })

  test('are refused if they match too much, and the error names the field and contains an example or the remedy', async () => {
    const example = 'https://[a-z0-9-]+\\.example\\.com/.+'
    const escapeDots = 'must escape the dots of its host'
    const completeUrls = 'each alternative (a|b) must be a complete URL pattern'
    const onlyThisServer = 'only names of this server'
    const unsafe: [field: string, pattern: string, advice: string][] = [
      ['issuer_pattern', 'https://.+', example],
      ['issuer_pattern', 'https://.+\\.com', example],
      ['issuer_pattern', 'https://.+example\\.com', example],
      ['issuer_pattern', 'https://accounts.example.com', escapeDots],
      ['issuer_pattern', 'https://a\\.example\\.com|.+', example],
      ['issuer_pattern', 'https://(a\\.example\\.com/x|b\\.example\\.com)', completeUrls],
      ['issuer_pattern', 'https://.+\\.example\\.com.*', example],
      ['audience_pattern', '.+', onlyThisServer],
      ['audience_pattern', 'https://.+', onlyThisServer],
    ]
    await identityWith({ issuerPattern: example, subject: 'robot' })
    for (const door of doors)
      for (const [field, pattern, advice] of unsafe) {
        const isIssuer = field === 'issuer_pattern'
        const rule = isIssuer
          ? { issuerPattern: pattern }
          : { issuer: attacker.issuer, audiencePattern: pattern }
        const { error } = await createIdentity({ ...rule, subject: 'robot' }, door)
        assert.equal(error?.code, 3, pattern)
        const fieldName = door.name === 'gRPC' ? field : field.replace('_p', 'P')
        assert.match(error.message, new RegExp(`laim_?[mM]atch\\.${fieldName}: must `), pattern)
        assert.ok(error.message.includes(advice), error.message)
      }
  })

  describe('that were stored before the server refused unsafe patterns', () => {
    let uid: string
    before(async () => {
      const iss = { case: 'issuerPattern', value: 'http://127.0.0.1:.+' } as const
      uid = await identityWith({ issuer: attacker.issuer, subject: 'robot' })
      const sub = { case: 'subject', value: 'robot' } as const
      const value = { iss, sub } as unknown as Identity_ClaimMatch // the other fields are optional
      const stored = create(IdentitySchema, {
        uid,
        name: 'robot',
        relationship: { case: 'claimMatch', value },
      })
      await platform.store.write(function* () {
        yield sql`update identities set proto = ${toBinary(IdentitySchema, stored)} where uid = ${uid}`
      })
    })

    test('never match across the parts of a URL', async () => {
      assert.equal(await exchangeErrorCode(uid, { iss: lookalike }), 7)
      assert.equal(await exchangeErrorCode(uid, { iss: attacker.issuer }), 0)
    })

    test('are reported by stemmad check', async () => {
      const findings = await checkIdentities(platform.store)
      const [unsafe, ...others] = findings.filter(({ kind }) => kind === 'unsafe pattern')
      const { identity, kind, field } = unsafe ?? {}
      assert.deepEqual([identity, kind, field], [uid, 'unsafe pattern', 'claim_match.issuer_pattern'])
      assert.deepEqual(others, [])
      if (engine !== 'sqlite') return
      const { code, stdout } = await runStemmadInline(['check', '--data-dir', platform.config.dataDir])
      assert.equal(code, 1)
      assert.match(
        stdout,
        new RegExp(`^unsafe pattern of the identity ${uid}: claim_match.issuer_pattern `, 'm'),
      )
    })
  })
})
