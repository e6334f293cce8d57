// The token exchange (section Token exchange of docs/specification.md), with real issuers over real sockets.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { AwsUnreachableError } from '../../server/auth/exchange/call-aws.ts'
import { OutboundError } from '../../server/auth/outbound/outbound.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { Door } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ExchangePlatform } from './exchange-platform.ts'
import { startExchangePlatform } from './exchange-platform.ts'
import type { ForeignIssuer } from './foreign-issuer.ts'
import { keysPath, startIssuer } from './foreign-issuer.ts'

const { exchange } = SecurityTokenService.method
const { getIdentity, updateIdentity } = IdentitiesService.method
const { createRoleBinding } = RoleBindingsService.method
const { createGroup, getGroup, listGroups } = GroupsService.method

onEachStore('the token exchange', (engine) => {
  let exchangePlatform: ExchangePlatform
  let issuer: ForeignIssuer
  let platform: Platform
  let doors: Door[]
  let identity: string
  before(async () => {
    exchangePlatform = await startExchangePlatform(engine)
    ;({ issuer, platform, doors } = exchangePlatform)
    identity = await makeIdentity({ claimMatch: { issuer: issuer.issuer, subject: 'robot' } }, 'viewer')
  })
  after(() => exchangePlatform.stop())

  const asOwner = (method: DescMethod, request: JsonObject) => exchangePlatform.callAsOwner(method, request)

  async function makeIdentity(relationship: JsonObject, role?: string): Promise<string> {
    const { uid } = await exchangePlatform.createIdentity(relationship)
    if (role) {
      const roleBinding = { identityUid: uid, roleUid: builtInRole(role).uid }
      await asOwner(createRoleBinding, { parent: platform.owner.organization, roleBinding })
    }
    return uid
  }

  const countGroups = async (token: string) =>
    (await (doors[0] as Door).call(listGroups, {}, token)).body?.totalCount

  test('a workload gets a token for an hour, by query, by form, as JSON and over gRPC', async () => {
    const bearer = await issuer.sign()
    const query = new URLSearchParams({ aud: 'http://stemma.test', identity })
    const headers = { authorization: `Bearer ${bearer}` }
    const form = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
    const json = { 'content-type': 'application/json', ...headers }
    const body = JSON.stringify({ aud: ['http://stemma.test'], identity })
    const answers = [
      await fetch(`${platform.url}/sts/exchange`, { method: 'POST', headers: json, body }),
      await fetch(`${platform.url}/sts/exchange?${query}`, { headers }),
      await fetch(`${platform.url}/sts/exchange?${query}`, { method: 'POST', headers }),
      await fetch(`${platform.url}/sts/exchange`, { method: 'POST', headers: form, body: query }),
    ]
    const bodies = await Promise.all(answers.map((answer) => answer.json() as Promise<JsonObject>))
    const overGrpc = await (doors[1] as Door).call(
      exchange,
      { identity, aud: ['http://stemma.test'] },
      bearer,
    )
    for (const body of [...bodies, overGrpc.body ?? {}]) {
      assert.deepEqual(Object.keys(body).sort(), ['expiry', 'token'])
      const token = body.token as string
      const { iss, sub, aud, exp = 0, iat = 0, act, jti } = decodeJwt(token)
      assert.deepEqual([iss, sub, aud], ['http://stemma.test', identity, 'http://stemma.test'])
      assert.equal(exp - iat, 3600)
      assert.equal(Date.parse(body.expiry as string), exp * 1000)
      assert.deepEqual(act, { iss: issuer.issuer, sub: 'robot', aud: 'http://stemma.test' })
      assert.ok(jti)
      assert.deepEqual(
        [decodeProtectedHeader(token).typ, decodeProtectedHeader(token).alg],
        ['at+jwt', 'RS256'],
      )
      assert.equal(await countGroups(token), '1')
    }
    for (const answer of answers) assert.equal(answer.headers.get('cache-control'), 'no-store')
  })

  test('an exchange updates lastSeenTime at most once a minute, and changes neither updateTime nor ETag', async () => {
    let clockOffsetMs = 0
    const clocked = await startExchangePlatform(engine, { now: () => Date.now() + clockOffsetMs }, 'ES256')
    const [door] = clocked.doors
    try {
      const created = await clocked.createIdentity()
      const { uid } = created
      const assume = async () =>
        assert.ok((await door.call(exchange, { identity: uid }, await clocked.issuer.sign())).body)
      const read = () => clocked.callAsOwner(getIdentity, { uid })
      await assume()
      assert.deepEqual(await read(), created)
      clockOffsetMs = 121_000
      await assume()
      // lastSeenTime is written after the response.
      while ((await read()).lastSeenTime === created.lastSeenTime) await pause(10)
      const { lastSeenTime, ...otherFields } = await read()
      const { lastSeenTime: createdLastSeenTime, ...createdOtherFields } = created
      assert.ok(Date.parse(lastSeenTime as string) >= Date.parse(createdLastSeenTime as string) + 120_000)
      assert.deepEqual(otherFields, createdOtherFields)
    } finally {
      await clocked.stop()
    }
  })

  test('keys are fetched once, and again for an unknown key id', async () => {
    let clockOffsetMs = 0
    const clocked = await startExchangePlatform(engine, { now: () => Date.now() + clockOffsetMs }, 'ES256')
    const { issuer: newIssuer } = clocked
    const [door] = clocked.doors
    try {
      const { uid } = await clocked.createIdentity()
      const attempt = async () =>
        (await door.call(exchange, { identity: uid }, await newIssuer.sign())).error?.code ?? 0
      assert.deepEqual(await Promise.all([attempt(), attempt(), attempt(), attempt()]), [0, 0, 0, 0])
      assert.equal(newIssuer.requestCounts.get(keysPath), 1)
      await newIssuer.rotate()
      assert.equal(await attempt(), 16, 'keys are fetched at most every 30 seconds')
      clockOffsetMs = 31_000
      assert.equal(await attempt(), 0)
      assert.equal(newIssuer.requestCounts.get(keysPath), 2)
    } finally {
      await clocked.stop()
    }
  })

  describe('an identity', () => {
    const attempt = async (uid: string, claims: JsonObject) => {
      const token = await issuer.sign(claims)
      const results = await Promise.all(doors.map((door) => door.call(exchange, { identity: uid }, token)))
      assert.deepEqual(results[0]?.error, results[1]?.error)
      return results[0]?.error
    }

    test('can be assumed if issuer and subject match exactly or match an anchored pattern', async () => {
      assert.equal(await attempt(identity, {}), undefined)
      const patterns = { issuerPattern: 'http://127\\.0\\.0\\.1:\\d+', subjectPattern: 'repo:acme/.+' }
      const byPattern = await makeIdentity({ claimMatch: patterns })
      assert.equal(await attempt(byPattern, { sub: 'repo:acme/app' }), undefined)
      for (const sub of ['repo:acme/', 'xrepo:acme/app', 'repo:evil/app', 'Repo:acme/app'])
        assert.equal((await attempt(byPattern, { sub }))?.code, 7, sub)
      for (const sub of ['Robot', 'robot ', 'robo'])
        assert.equal((await attempt(identity, { sub }))?.code, 7, sub)
    })

    test('requires the audience in its claim match, or if there is none, an audience of this server', async () => {
      for (const aud of ['http://stemma.test', 'stemma.test', ['other', 'stemma.test']])
        assert.equal(await attempt(identity, { aud }), undefined, String(aud))
      for (const aud of ['http://stemma.test/', 'https://stemma.test', 'other', ['a', 'b']])
        assert.match((await attempt(identity, { aud }))?.message ?? '', /invalid "aud"/, String(aud))
      const claimMatch = { issuer: issuer.issuer, subject: 'robot', audiencePattern: 'sts-.+' }
      const withAudience = await makeIdentity({ claimMatch })
      assert.equal(await attempt(withAudience, { aud: 'sts-prod' }), undefined)
      assert.match((await attempt(withAudience, {}))?.message ?? '', /invalid "aud"/)
    })

    test('can require further claims; the error names the claim that does not match', async () => {
      const claimMatch = {
        ...{ issuer: issuer.issuer, subject: 'robot' },
        ...{ claims: { env: 'prod', run: '7', ok: 'true' }, claimPatterns: { ref: 'refs/heads/.+' } },
      }
      const withClaims = await makeIdentity({ claimMatch })
      const right = { env: 'prod', run: 7, ok: true, ref: 'refs/heads/main' }
      assert.equal(await attempt(withClaims, right), undefined)
      const wrong: [JsonObject, string][] = [
        [{ env: 'dev' }, 'env'],
        [{ env: ['prod'] }, 'env'],
        [{ ok: 1 }, 'ok'],
        [{ ref: 'x/refs/heads/main' }, 'ref'],
      ]
      for (const [change, claim] of wrong) {
        const error = await attempt(withClaims, { ...right, ...change })
        assert.deepEqual([error?.code, error?.message], [7, `Permission denied: invalid "${claim}"`])
      }
    })

    test('cannot be assumed if it is unknown or does not accept issuer or subject; the error is the same', async () => {
      const unknownIssuer = await startIssuer('ES256')
      const identityOfOtherIssuer = await makeIdentity({
        claimMatch: { issuer: 'https://else.test', subject: 'robot' },
      })
      const errors = [
        await attempt(identity, { sub: 'else' }),
        await attempt(identityOfOtherIssuer, {}),
        await attempt(`${platform.owner.organization}/${'0'.repeat(16)}`, {}),
        await attempt('nobody', {}),
        await attempt('', {}),
        (await (doors[0] as Door).call(exchange, { identity }, await unknownIssuer.sign())).error,
      ]
      for (const error of errors) assert.deepEqual(error, errors[0])
      assert.equal(errors[0]?.code, 7)
      assert.equal(
        unknownIssuer.requestCounts.size,
        0,
        'keys are fetched only from the issuer of the identity',
      )
      await unknownIssuer.close()
    })
  })

  test('a token can be limited to groups and capabilities, and its limits cannot be removed', async () => {
    const [door] = doors as [Door]
    const { organization } = platform.owner
    const team = (await asOwner(createGroup, { parent: organization, group: { name: 'team' } })).uid as string
    await asOwner(createGroup, { parent: team, group: { name: 'inner' } })
    const owner = await makeIdentity({ claimMatch: { issuer: issuer.issuer, subject: 'owner' } }, 'owner')
    const exchangeWith = async (request: JsonObject) => {
      const token = await issuer.sign({ sub: 'owner' })
      return (await door.call(exchange, { identity: owner, ...request }, token)).body?.token as string
    }
    const unlimited = await exchangeWith({})
    const inTeam = await exchangeWith({ scopes: [team] })
    assert.ok(Number(await countGroups(unlimited)) >= 3)
    assert.equal(await countGroups(inTeam), '2')
    assert.equal((await door.call(getGroup, { uid: organization }, inTeam)).error?.code, 7)
    const listOnly = await exchangeWith({ cap: ['groups.list'] })
    assert.equal(await countGroups(listOnly), await countGroups(unlimited))
    const create = { parent: team, group: { name: 'x' } }
    assert.equal((await door.call(createGroup, create, listOnly)).error?.code, 7)
    assert.ok((await door.call(createGroup, create, inTeam)).body)
    assert.equal((await door.call(createGroup, { group: { name: 'org' } }, inTeam)).error?.code, 7)
    // An exchange of a limited token can only add limits.
    const narrowed = await door.call(exchange, { identity: owner, cap: ['groups.create'] }, listOnly)
    assert.equal(await countGroups(narrowed.body?.token as string), '0')
    const unchanged = await door.call(exchange, { identity: owner }, inTeam)
    assert.equal(await countGroups(unchanged.body?.token as string), await countGroups(inTeam))
    assert.ok((decodeJwt(unchanged.body?.token as string).exp ?? 0) <= (decodeJwt(inTeam).exp ?? 0))
    for (const bad of [{ cap: ['groups.fly'] }, { scopes: ['x'] }, { aud: ['https://else.test'] }]) {
      const token = await issuer.sign({ sub: 'owner' })
      assert.equal((await door.call(exchange, { identity: owner, ...bad }, token)).error?.code, 3)
    }
  })

  test('static keys verify a token without network access; another subject or key is refused', async () => {
    const [door] = doors as [Door]
    const offline = await startIssuer('ES256')
    const issuerKeys = JSON.stringify({ keys: [offline.key().jwk] })
    await offline.close()
    const staticKeys = { issuer: 'https://offline.test', subject: 'ci', issuerKeys }
    const uid = await makeIdentity({ staticKeys })
    const sign = (claims: JsonObject) => offline.sign({ iss: 'https://offline.test', sub: 'ci', ...claims })
    assert.ok((await door.call(exchange, { identity: uid }, await sign({}))).body)
    assert.equal((await door.call(exchange, { identity: uid }, await sign({ sub: 'x' }))).error?.code, 7)
    await offline.rotate()
    assert.equal((await door.call(exchange, { identity: uid }, await sign({}))).error?.code, 16)
  })

  test('static keys that are not for signatures are ignored; if there are no others, the error says so', async () => {
    const offline = await startIssuer('ES256')
    const { jwk } = offline.key()
    await offline.close()
    const [iss, sub] = ['https://offline.test', 'ci']
    const assumeWith = async (door: Door, issuerKeys: string, signedAs = sub) => {
      const uid = await makeIdentity({ staticKeys: { issuer: iss, subject: sub, issuerKeys } })
      return door.call(exchange, { identity: uid }, await offline.sign({ iss, sub: signedAs }))
    }
    for (const door of doors) {
      const mixed = JSON.stringify({ keys: [{ ...jwk, kid: 'other', use: 'enc' }, { kty: 'EC' }, jwk] })
      assert.ok((await assumeWith(door, mixed)).body)
      for (const unusable of ['keys', '{"keys":[]}', JSON.stringify({ keys: [{ ...jwk, use: 'enc' }] })]) {
        const { error } = await assumeWith(door, unusable)
        assert.equal(error?.code, 7)
        assert.match(error.message, /static_keys\.issuer_keys of the identity contains no usable public key/)
        // Only a caller whose token has the subject of the identity gets this error.
        const stranger = (await assumeWith(door, unusable, 'stranger')).error
        assert.match(stranger?.message ?? '', /no identity can be assumed with this token/)
      }
    }
  })

  test('an AWS caller of the right account is told that the ARN of the identity can never match', async () => {
    let account = '123456789012'
    const arn = () => `arn:aws:sts::${account}:assumed-role/app/session`
    const callAws = async () => ({ account, arn: arn(), userId: 'AROAX' })
    const aws = await startExchangePlatform(engine, { callAws }, 'ES256')
    try {
      const errorFor = async (door: Door, namedArn: string) => {
        const awsIdentity = { awsAccount: '123456789012', arn: namedArn, userId: 'AROAX' }
        const { uid } = await aws.createIdentity({ awsIdentity })
        return (await door.call(exchange, { identity: uid }, awsBearer(uid))).error
      }
      for (const door of aws.doors) {
        account = '123456789012'
        assert.equal(await errorFor(door, arn()), undefined)
        assert.match((await errorFor(door, 'bar'))?.message ?? '', /aws_identity\.arn .* must be an ARN/)
        assert.match((await errorFor(door, `${arn()}2`))?.message ?? '', /no identity can be assumed/)
        account = '210987654321'
        assert.match((await errorFor(door, 'bar'))?.message ?? '', /no identity can be assumed/)
      }
    } finally {
      await aws.stop()
    }
  })

  test('an exchange while AWS cannot be reached can be repeated, and is not counted as a failed attempt', async () => {
    let failure: Error | undefined
    const caller = { account: '123456789012', arn: 'arn:aws:iam::123456789012:user/a', userId: 'AIDAX' }
    const maxFailedExchanges = 3
    const callAws = async () => {
      if (failure) throw failure
      return caller
    }
    const aws = await startExchangePlatform(engine, { callAws, maxFailedExchanges }, 'ES256')
    try {
      const awsIdentity = { awsAccount: caller.account, arn: caller.arn, userId: caller.userId }
      const { uid } = await aws.createIdentity({ awsIdentity })
      const codeWith = async (door: Door) =>
        (await door.call(exchange, { identity: uid }, awsBearer(uid))).error?.code
      failure = new AwsUnreachableError('AWS cannot be reached')
      const [rest, grpc] = aws.doors
      for (let count = 0; count < maxFailedExchanges; count++) assert.equal(await codeWith(rest), 14)
      assert.equal(await codeWith(grpc), 14)
      failure = new OutboundError('AWS answered with status 403')
      for (const door of aws.doors) assert.equal(await codeWith(door), 16)
      failure = undefined
      for (const door of aws.doors) assert.equal(await codeWith(door), undefined)
    } finally {
      await aws.stop()
    }
  })

  test('a subject pattern of .* matches every subject, and a claim can have a value and a pattern', async () => {
    const claims = { email: 'ada@acme.example' }
    const claimPatterns = { email: '.*@acme\\.example' }
    const claimMatch = { issuer: issuer.issuer, subjectPattern: '.*' }
    const [anybody, restricted] = [
      await makeIdentity({ claimMatch }),
      await makeIdentity({ claimMatch: { ...claimMatch, claims, claimPatterns } }),
    ]
    for (const door of doors) {
      const token = await issuer.sign({ sub: 'anybody', email: 'ada@acme.example' })
      for (const uid of [anybody, restricted])
        assert.ok((await door.call(exchange, { identity: uid }, token)).body)
      const other = await issuer.sign({ sub: 'anybody', email: 'bob@acme.example' })
      assert.match((await door.call(exchange, { identity: restricted }, other)).error?.message ?? '', /email/)
      // A token without a subject, or for another audience, is refused nevertheless.
      for (const bad of [{ sub: '' }, { sub: 'x', aud: 'https://other.test' }])
        assert.ok((await door.call(exchange, { identity: anybody }, await issuer.sign(bad))).error)
    }
  })

  test('an identity that matches tokens of this server can be assumed with such a token', async () => {
    const [door] = doors as [Door]
    const claimMatch = { issuer: 'http://stemma.test', subjectPattern: '[0-9a-f]{40}' }
    const anyUser = await makeIdentity({ claimMatch }, 'viewer')
    const user = await platform.addIdentity('')
    const assumed = await door.call(exchange, { identity: anyUser }, user.token)
    assert.equal(decodeJwt(assumed.body?.token as string).sub, anyUser)
    assert.ok(Number(await countGroups(assumed.body?.token as string)) > 0)
    assert.equal((await door.call(exchange, { identity: anyUser }, platform.owner.token)).error?.code, 7)
    await platform.deleteIdentity(user.identity)
    assert.equal((await door.call(exchange, { identity: anyUser }, user.token)).error?.code, 16)
  })

  test('a token signed with static keys is not accepted as a token of this server', async () => {
    const [door] = doors as [Door]
    const offline = await startIssuer('ES256')
    const issuerKeys = JSON.stringify({ keys: [offline.key().jwk] })
    await offline.close()
    for (const name of ['https://offline.test', 'http://stemma.test']) {
      const uid = await makeIdentity({ staticKeys: { issuer: name, subject: 'ci', issuerKeys } }, 'viewer')
      for (const sub of ['ci', uid, platform.owner.identity]) {
        const token = await offline.sign({ iss: 'http://stemma.test', sub })
        const { error } = await door.call(exchange, { identity: uid }, token)
        assert.ok(error?.code === 7 || error?.code === 16, `${name} ${sub}`)
      }
    }
  })

  test('exchanging a token of this server extends neither its lifetime nor its access', async () => {
    const [door] = doors as [Door]
    const claimMatch = { issuer: 'http://stemma.test', subjectPattern: '.+' }
    const [a, b] = [await makeIdentity({ claimMatch }), await makeIdentity({ claimMatch })]
    let token = await platform.tokenOf(platform.owner.identity)
    const expiry = decodeJwt(token).exp ?? 0
    await pause(1100)
    for (const uid of [a, b, a]) {
      const { body } = await door.call(exchange, { identity: uid }, token)
      token = body?.token as string
      assert.ok((decodeJwt(token).exp ?? 0) <= expiry)
    }
    const aud = ['stemma.test']
    const narrow = await door.call(exchange, { identity: platform.owner.identity, aud }, platform.owner.token)
    const wider = { identity: platform.owner.identity, aud: ['http://stemma.test'] }
    assert.equal((await door.call(exchange, wider, narrow.body?.token as string)).error?.code, 16)
  })

  test('a change of the claim match takes effect at once', async () => {
    const [door] = doors as [Door]
    const uid = await makeIdentity({ claimMatch: { issuer: issuer.issuer, subject: 'before' } })
    const attempt = async (sub: string) =>
      (await door.call(exchange, { identity: uid }, await issuer.sign({ sub }))).error?.code ?? 0
    assert.deepEqual([await attempt('before'), await attempt('after')], [0, 7])
    await asOwner(updateIdentity, { identity: { uid, claimMatch: { subject: 'after' } } })
    assert.deepEqual([await attempt('before'), await attempt('after')], [7, 0])
  })
})

/** A signed AWS request that is bound to the identity. Only AWS could verify its signature. */
function awsBearer(identity: string): string {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const signedHeaders = 'chainguard-audience;chainguard-identity;host;x-amz-date'
  const credential = `AKIAEXAMPLE/${time.slice(0, 8)}/us-east-1/sts/aws4_request`
  return Buffer.from(
    [
      'POST /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1',
      'host: sts.amazonaws.com',
      `x-amz-date: ${time}`,
      'chainguard-audience: http://stemma.test',
      `chainguard-identity: ${identity}`,
      `authorization: AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${signedHeaders}, Signature=${'f'.repeat(64)}`,
      '',
      '',
    ].join('\r\n'),
  ).toString('base64url')
}
