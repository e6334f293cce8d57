// The token protocol of the registry: challenges, the token endpoint, and what its tokens allow.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { openRefreshTokens } from '../../server/auth/refresh/refresh-tokens.ts'
import { signOutEverywhere } from '../../server/auth/sign-outs.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { addScimProvider } from '../scim/scim-platform.ts'
import type { ExchangePlatform } from '../sign-in/exchange-platform.ts'
import { startExchangePlatform } from '../sign-in/exchange-platform.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, imageOf, indexOf, ociClient, types } from './oci-client.ts'
import { basic, challengeOf, getToken, postToken, withChallenge } from './token-client.ts'

onEachStore('tokens of the registry', (engine) => {
  let exchangePlatform: ExchangePlatform
  let platform: Platform
  let owner: OciClient
  let ownerBasic: string
  let url: string
  let clockOffset = 0
  const now = () => Date.now() + clockOffset
  before(async () => {
    exchangePlatform = await startExchangePlatform(engine, { now }, 'ES256')
    ;({ platform } = exchangePlatform)
    url = platform.url
    owner = ociClient(url, platform.owner.token)
    ownerBasic = basic('_token', platform.owner.token)
    await owner.pushImage('acme/web', 'latest', 'layer')
    await owner.pushImage('acme/other', 'latest', 'layer')
  })
  after(() => exchangePlatform.stop())

  const member = (role: string) => platform.addIdentity(platform.owner.organization, role)
  const statusOf = async (token: string, method: string, path: string, init: RequestInit = {}) =>
    (await ociClient(url, token).send(method, path, init)).status
  const tokenFor = async (scope: string, authorization = ownerBasic) =>
    (await getToken(url, [scope], authorization)).body.token

  test('are demanded by a challenge with the scope that the request needs', async () => {
    const digest = digestOf('layer')
    const uid = `${'a'.repeat(40)}/${'b'.repeat(16)}`
    const needed: [method: string, path: string, scope: string][] = [
      ['GET', 'acme/web/manifests/latest', 'repository:acme/web:pull'],
      ['HEAD', `${uid}/blobs/${digest}`, `repository:${uid}:pull`],
      ['GET', 'acme/web/tags/list', 'repository:acme/web:pull'],
      ['PUT', 'acme/web/manifests/latest', 'repository:acme/web:pull,push'],
      ['POST', 'acme/web/blobs/uploads/', 'repository:acme/web:pull,push'],
      ['PATCH', 'acme/web/blobs/uploads/1', 'repository:acme/web:pull,push'],
      ['DELETE', 'acme/web/blobs/uploads/1', 'repository:acme/web:pull,push'],
      ['DELETE', 'acme/web/manifests/latest', 'repository:acme/web:pull,delete'],
      [
        ...(['POST', `acme/web/blobs/uploads/?mount=${digest}&from=acme/other`] as const),
        'repository:acme/web:pull,push repository:acme/other:pull',
      ],
      // A name with a quotation mark would end the quoted value in the challenge, so it is left out.
      [
        ...(['POST', `acme/web/blobs/uploads/?mount=${digest}&from=x%22,error=%22%0d%0a`] as const),
        'repository:acme/web:pull,push',
      ],
    ]
    for (const [method, path, scope] of needed) {
      const response = await fetch(`${url}/v2/${path}`, { method })
      assert.equal(response.status, 401)
      assert.deepEqual(
        challengeOf(response),
        { realm: 'http://stemma.test/v2/token', service: 'stemma.test', scope },
        path,
      )
    }
    const withoutScope = { realm: 'http://stemma.test/v2/token', service: 'stemma.test' }
    assert.deepEqual(challengeOf(await fetch(`${url}/v2/`)), withoutScope)
  })

  test('are short-lived, and name the caller and the granted access', async () => {
    const { status, headers, body } = await getToken(
      url,
      ['repository:acme/web:pull,push repository:acme/none:pull', 'registry:catalog:*'],
      ownerBasic,
    )
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(body.token, body.access_token)
    assert.equal(body.expires_in, 300)
    assert.equal(body.scope, 'repository:acme/web:pull,push repository:acme/none:pull')
    assert.ok(Math.abs(Date.parse(body.issued_at) - now()) < 60_000)
    assert.equal(body.refresh_token, undefined)
    const { typ } = decodeProtectedHeader(body.token)
    const { sub, aud, exp = 0, iat = 0, access } = decodeJwt(body.token)
    assert.deepEqual(
      [typ, sub, aud, exp - iat],
      ['registry+jwt', platform.owner.identity, 'http://stemma.test/v2/', 300],
    )
    assert.deepEqual(access, [
      { type: 'repository', name: 'acme/web', actions: ['pull', 'push'] },
      { type: 'repository', name: 'acme/none', actions: ['pull'] },
    ])
  })

  test('never live longer than the credentials they were issued for', async () => {
    const { identity } = await member('registry.pull')
    const { keys, config } = platform
    const expires = Math.floor(now() / 1000) + 30
    const deps = { keys, authUrl: config.authUrl, now, random: randomBytes }
    const access = await mintToken(deps, { identity, audience: config.baseUrl, expires })
    const { body } = await getToken(url, [], basic('_token', access))
    assert.equal(decodeJwt(body.token).exp, expires)
    assert.equal(body.expires_in, 60, 'clients do not accept less')
  })

  test('allow those of the requested actions that the caller may do, and nothing else', async () => {
    const { token } = await member('registry.pull')
    const { body } = await getToken(url, ['repository:acme/web:*'], basic('_token', token))
    assert.equal(body.scope, 'repository:acme/web:pull')
    assert.equal(await statusOf(body.token, 'GET', '/v2/acme/web/manifests/latest'), 200)
    assert.equal(await statusOf(body.token, 'GET', '/v2/'), 200)
    const refused: [method: string, path: string][] = [
      ['GET', '/v2/acme/other/manifests/latest'],
      ['HEAD', `/v2/acme/other/blobs/${digestOf('layer')}`],
      ['GET', '/v2/acme/web/web/tags/list'],
      ['GET', '/v2/acme/tags/list'],
      ['POST', '/v2/acme/web/blobs/uploads/'],
      ['PUT', '/v2/acme/web/manifests/latest'],
      ['DELETE', '/v2/acme/web/manifests/latest'],
    ]
    for (const [method, path] of refused) {
      const response = await ociClient(url, body.token).send(method, path)
      assert.equal(response.status, 401, path)
      assert.equal(challengeOf(response).error, 'insufficient_scope')
    }
  })

  test('allow nothing once the role binding of the caller has expired', async () => {
    const { identity, token } = await platform.addIdentity(platform.owner.organization)
    const expireTime = new Date(now() + 60_000).toISOString()
    const roleBinding = { identityUid: identity, roleUid: builtInRole('registry.pull').uid, expireTime }
    await exchangePlatform.callAsOwner(RoleBindingsService.method.createRoleBinding, {
      parent: platform.owner.organization,
      roleBinding,
    })
    const { body } = await getToken(url, ['repository:acme/web:pull'], basic('_token', token))
    const pull = async () => [
      await statusOf(body.token, 'GET', '/v2/acme/web/manifests/latest'),
      await statusOf(body.token, 'GET', `/v2/acme/web/blobs/${digestOf('layer')}`),
      await statusOf(token, 'GET', '/v2/acme/web/manifests/latest'),
    ]
    assert.deepEqual(await pull(), [200, 200, 200])
    clockOffset += 60_000
    assert.deepEqual(await pull(), [403, 403, 403])
    const { body: later } = await getToken(url, ['repository:acme/web:pull'], basic('_token', token))
    assert.equal(later.scope, '')
    clockOffset -= 60_000
  })

  test('are accepted only for the name or uid in their scope', async () => {
    const { repos } = (await (
      await fetch(`${url}/registry/v2beta1/repos?name=web`, {
        headers: { authorization: `Bearer ${platform.owner.token}` },
      })
    ).json()) as { repos: { uid: string }[] }
    const uid = repos[0]?.uid ?? ''
    const byName = await tokenFor('repository:acme/web:pull')
    const byUid = await tokenFor(`repository:${uid}:pull`)
    assert.equal(await statusOf(byName, 'GET', '/v2/acme/web/manifests/latest'), 200)
    assert.equal(await statusOf(byUid, 'GET', `/v2/${uid}/manifests/latest`), 200)
    assert.equal(await statusOf(byName, 'GET', `/v2/${uid}/manifests/latest`), 401)
    assert.equal(await statusOf(byUid, 'GET', '/v2/acme/web/manifests/latest'), 401)
  })

  test('allow mounts only from repos that they allow to pull from', async () => {
    await ociClient(url, platform.owner.token).pushImage('acme/private', 'latest', 'private layer')
    const digest = digestOf('private layer')
    const target = 'repository:acme/mounts:pull,push'
    const withoutSource = [
      target,
      `${target} repository:acme/web:pull`,
      `${target} repository:acme/private:push`,
      `${target} repository:acme/private:delete`,
    ]
    for (const from of ['&from=acme/private', '']) {
      const mount = `/v2/acme/mounts/blobs/uploads/?mount=${digest}${from}`
      for (const scope of withoutSource) {
        const token = await tokenFor(scope)
        assert.equal(await statusOf(token, 'POST', mount), 202, `${scope} ${from}`)
        assert.equal(await statusOf(token, 'GET', `/v2/acme/mounts/blobs/${digest}`), 404)
      }
    }
    // The blob is mounted only from the repo in `from`, even if the token allows pulling it from another repo.
    const both = await tokenFor(`${target} repository:acme/private:pull`)
    const other = `/v2/acme/mounts/blobs/uploads/?mount=${digest}&from=acme/web`
    assert.equal(await statusOf(both, 'POST', other), 202)
    for (const [name, from] of [
      ['acme/mounts', '&from=acme/private'],
      ['acme/mounts-without-source', ''],
    ]) {
      const token = await tokenFor(`repository:${name}:pull,push repository:acme/private:pull`)
      assert.equal(await statusOf(token, 'POST', `/v2/${name}/blobs/uploads/?mount=${digest}${from}`), 201)
      assert.equal(await statusOf(token, 'GET', `/v2/${name}/blobs/${digest}`), 200)
    }
  })

  test('do not tell which repos exist', async () => {
    const { token } = await platform.addOrganization('stranger')
    const names = ['acme/web', 'acme/nothing', 'acme/a/b/c', 'nobody/web', `${'0'.repeat(40)}`]
    for (const name of names) {
      const { status, body } = await getToken(url, [`repository:${name}:*`], basic('_token', token))
      assert.deepEqual([status, body.scope], [200, ''], name)
      const response = await ociClient(url, body.token).send('GET', `/v2/${name}/manifests/latest`)
      const { errors } = (await response.json()) as { errors: object[] }
      assert.deepEqual(
        [response.status, errors],
        [401, [{ code: 'UNAUTHORIZED', message: 'the token does not allow this request' }]],
      )
      const direct = await ociClient(url, token).errorOf('GET', `/v2/${name}/manifests/latest`)
      assert.equal(direct, '403 DENIED', name)
    }
  })

  test('are accepted by the registry alone', async () => {
    const token = await tokenFor('repository:acme/web:*')
    for (const door of exchangePlatform.doors) {
      const { error } = await door.call(GroupsService.method.listGroups, {}, token)
      assert.equal(error?.code, 16, door.name)
      const exchanged = await door.call(
        SecurityTokenService.method.exchange,
        { identity: platform.owner.identity },
        token,
      )
      assert.equal(exchanged.error?.code, 16, door.name)
    }
    const headers = { authorization: `Bearer ${token}` }
    const provider = await addScimProvider(platform, platform.owner)
    for (const path of [`/scim/v2/${provider.uid}/Users`, '/auth/v1/ok', '/v2/token']) {
      const { status } = await fetch(`${url}${path}`, { headers })
      assert.equal(status, 401, path)
    }
    const exchange = await postForm('/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    })
    assert.equal(exchange, 400)
    assert.equal((await getToken(url, [], basic('_token', token))).status, 401)
    assert.equal((await getToken(url, [], basic(platform.owner.identity, token))).status, 401)
    assert.equal((await postToken(url, { grant_type: 'refresh_token', refresh_token: token })).status, 401)
  })

  const postForm = async (path: string, form: Record<string, string>) =>
    (await fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form) })).status

  test('are refused if they were not issued here, or have expired', async () => {
    const token = await tokenFor('repository:acme/web:*')
    const [header = '', payload = '', signature = ''] = token.split('.')
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = decodeJwt(token)
    const { kid } = decodeProtectedHeader(token)
    const forged = [
      `${encode({ alg: 'none', typ: 'registry+jwt', kid })}.${payload}.`,
      `${header}.${encode({ ...claims, sub: '0'.repeat(40) })}.${signature}`,
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', typ: 'registry+jwt', kid: kid ?? '' })
        .sign(randomBytes(32)),
      'garbage',
      'a.b.c',
    ]
    for (const wrong of forged) {
      const response = await ociClient(url, wrong).send('GET', '/v2/acme/web/manifests/latest')
      assert.equal(response.status, 401)
      assert.equal(challengeOf(response).error, 'invalid_token')
    }
    assert.equal(await statusOf(token, 'GET', '/v2/acme/web/manifests/latest'), 200)
    clockOffset = 301_000
    const expired = await ociClient(url, token).send('GET', '/v2/acme/web/manifests/latest')
    clockOffset = 0
    assert.deepEqual([expired.status, challengeOf(expired).error], [401, 'invalid_token'])
  })

  const clockAfterExpiry = 62 * 60_000

  type SlowRequest = {
    method: string
    path: string
    authorization: string
    body: string
    type?: string
    /** Called when the server waits for the body. */
    meanwhile?: (() => Promise<void>) | undefined
  }

  /** Sends a request whose credentials expire before its body arrives. Returns the status of the response. */
  async function sendSlowly({ method, path, authorization, body, type, meanwhile }: SlowRequest) {
    const raw = await rawClient(platform.app.port)
    const head = [
      ...[`${method} ${path} HTTP/1.1`, 'host: x', `authorization: ${authorization}`],
      ...[`content-type: ${type ?? types.layer}`, `content-length: ${body.length}`, 'expect: 100-continue'],
    ]
    raw.send(`${head.join('\r\n')}\r\n\r\n`)
    try {
      assert.equal((await raw.response()).status, 100)
      await meanwhile?.()
      clockOffset = clockAfterExpiry
      raw.send(body)
      return (await raw.response()).status
    } finally {
      clockOffset = 0
      raw.close()
    }
  }

  /** An identity that may push to `acme/slow`, and its credentials of every kind. */
  async function makePusher() {
    const { uid } = await exchangePlatform.createIdentity()
    await platform.bind(uid, 'registry.push', platform.owner.organization)
    const { keys, config } = platform
    const deps = { keys, authUrl: config.authUrl, now, random: randomBytes }
    const access = await mintToken(deps, { identity: uid, audience: config.baseUrl })
    const registryToken = await tokenFor('repository:acme/slow:pull,push', basic('_token', access))
    const password = await exchangePlatform.issuer.sign()
    const credentials: [kind: string, authorization: string][] = [
      ['a token of the registry', `Bearer ${registryToken}`],
      ['an access token', `Bearer ${access}`],
      ['an access token as a password', basic('_token', access)],
      ['a password of the identity', basic(uid, password)],
    ]
    return { uid, credentials }
  }

  test('may expire while the body of a request arrives, like all other credentials', async () => {
    const { credentials } = await makePusher()
    for (const [kind, authorization] of credentials) {
      const send = (method: string, path: string, body: string) =>
        sendSlowly({ method, path, authorization, body })
      const whole = `in one request with ${kind}`
      const path = `/v2/acme/slow/blobs/uploads/?digest=${digestOf(whole)}`
      assert.equal(await send('POST', path, whole), 201, kind)
      const chunk = `in chunks with ${kind}`
      const location = await owner.begin('acme/slow')
      assert.equal(await send('PATCH', location, chunk), 202, kind)
      assert.equal(await send('PUT', `${location}?digest=${digestOf(chunk + chunk)}`, chunk), 201, kind)
      for (const content of [whole, chunk + chunk])
        await owner.expect(200, 'HEAD', `/v2/acme/slow/blobs/${digestOf(content)}`)
      clockOffset = clockAfterExpiry
      const next = await fetch(`${url}/v2/acme/slow/tags/list`, { headers: { authorization } })
      clockOffset = 0
      assert.equal(next.status, 401, kind)
    }
  })

  test('may expire while the first manifest of a new repo arrives', async () => {
    const authorization = `Bearer ${await tokenFor('repository:acme/slow-new:pull,push')}`
    const path = '/v2/acme/slow-new/manifests/latest'
    const request = { method: 'PUT', path, authorization, body: indexOf([]), type: types.index }
    assert.equal(await sendSlowly(request), 201)
  })

  test('do not allow a request whose access ends while its body arrives', async () => {
    const ends = [
      [403, (uid: string) => platform.unbind(uid)],
      [401, (uid: string) => platform.deleteIdentity(uid)],
    ] as const
    for (const [status, end] of ends) {
      for (let index = 0; index < 4; index++) {
        const { uid, credentials } = await makePusher()
        const [kind = '', authorization = ''] = credentials[index] ?? []
        const path = await owner.begin('acme/slow')
        const meanwhile = () => end(uid)
        const request = { method: 'PATCH', path, authorization, body: 'refused', meanwhile }
        assert.equal(await sendSlowly(request), status, kind)
      }
    }
  })

  test('are refused as soon as their identity has lost its role, was deleted or has signed out', async () => {
    const scope = 'repository:acme/web:pull'
    const pull = (token: string) => statusOf(token, 'GET', '/v2/acme/web/manifests/latest')
    const unbound = await member('registry.pull')
    const first = await tokenFor(scope, basic('_token', unbound.token))
    assert.equal(await pull(first), 200)
    await platform.unbind(unbound.identity)
    assert.equal(await pull(first), 403)
    const deleted = await member('registry.pull')
    const second = await tokenFor(scope, basic('_token', deleted.token))
    await platform.deleteIdentity(deleted.identity)
    assert.equal(await pull(second), 401)
    assert.equal((await getToken(url, [], basic('_token', deleted.token))).status, 401)
    const person = await platform.addUser('ada@example.com')
    await platform.bind(person.identity, 'registry.pull', platform.owner.organization)
    const third = await tokenFor(scope, basic('_token', person.token))
    assert.equal(await pull(third), 200)
    await platform.store.write(() => signOutEverywhere(person.identity, now()))
    assert.equal(await pull(third), 401)
  })

  test('keep the limits of the access token they were issued for', async () => {
    const {
      keys,
      config,
      owner: { identity, organization },
    } = platform
    const deps = { keys, authUrl: config.authUrl, now, random: randomBytes }
    const limits = { scopes: [`${organization}/${'0'.repeat(16)}`] }
    const limited = await mintToken(deps, { identity, audience: config.baseUrl, limits })
    const { body } = await getToken(url, ['repository:acme/web:*'], basic('_token', limited))
    assert.equal(body.scope, '')
    assert.deepEqual(decodeJwt(body.token).scopes, limits.scopes)
  })

  test('are issued for access tokens of the API or the registry; requests can also use these access tokens directly', async () => {
    const {
      keys,
      config,
      owner: { identity },
    } = platform
    const deps = { keys, authUrl: config.authUrl, now, random: randomBytes }
    const forRegistry = await mintToken(deps, { identity, audience: 'stemma.test' })
    assert.equal(await statusOf(forRegistry, 'GET', '/v2/'), 200)
    assert.equal((await getToken(url, [], `Bearer ${forRegistry}`)).status, 200)
    const forOthers = await mintToken(deps, { identity, audience: 'https://elsewhere.example.com' })
    assert.equal(await ociClient(url, forOthers).errorOf('GET', '/v2/'), '403 DENIED')
  })

  test('are issued if the user name is the uid of an identity and the password a token of its issuer', async () => {
    const { uid } = await exchangePlatform.createIdentity()
    await platform.bind(uid, 'registry.push', platform.owner.organization)
    const password = await exchangePlatform.issuer.sign()
    const { body } = await getToken(url, ['repository:acme/ci:*'], basic(uid, password))
    assert.equal(decodeJwt(body.token).sub, uid)
    assert.equal(body.scope, 'repository:acme/ci:pull,push,delete')
    await ociClient(url, body.token).pushImage('acme/ci', 'latest', 'layer')
    const direct = { headers: { authorization: basic(uid, password) } }
    assert.equal((await fetch(`${url}/v2/acme/ci/tags/list`, direct)).status, 200)
    await platform.unbind(uid)
    assert.equal((await fetch(`${url}/v2/acme/ci/tags/list`, direct)).status, 403)
    await platform.deleteIdentity(uid)
    assert.equal((await fetch(`${url}/v2/acme/ci/tags/list`, direct)).status, 401)
    // Another subject, another issuer, no such identity, and no uid: all are refused alike.
    const other = await exchangePlatform.createIdentity()
    const wrong = [
      basic(other.uid, await exchangePlatform.issuer.sign({ sub: 'another' })),
      basic(other.uid, await exchangePlatform.issuer.sign({ iss: 'https://elsewhere.example.com' })),
      basic(other.uid, await exchangePlatform.issuer.sign({ aud: 'elsewhere' })),
      basic(`${platform.owner.organization}/${'0'.repeat(16)}`, password),
      basic('ada', password),
      basic('', ''),
      basic(other.uid, 'password'),
    ]
    for (const authorization of wrong) {
      const { status, body, headers } = await getToken(url, [], authorization)
      const expected = [{ code: 'UNAUTHORIZED', message: 'the user name or the password is wrong' }]
      assert.deepEqual([status, body.errors], [401, expected])
      assert.equal(headers.get('www-authenticate'), 'Basic realm="http://stemma.test", charset="UTF-8"')
    }
  })

  test('are issued for refresh tokens, each of which is replaced by its successor', async () => {
    const { store, keys, secret, config } = platform
    const { authUrl, baseUrl } = config
    const tokens = openRefreshTokens({ store, keys, secret, authUrl, baseUrl, now, random: randomBytes })
    const { identity } = await platform.addUser('grace@example.com')
    await platform.bind(identity, 'registry.pull', platform.owner.organization)
    const signIn = tokens.start({ person: identity, signedInAt: Math.floor(now() / 1000) })
    const { token } = await tokens.issue(signIn, baseUrl)
    const use = (refresh_token: string) =>
      postToken(url, { grant_type: 'refresh_token', scope: 'repository:acme/web:*', refresh_token })
    const first = await use(token)
    assert.deepEqual([first.status, first.body.scope], [200, 'repository:acme/web:pull'])
    assert.equal(await statusOf(first.body.token, 'GET', '/v2/acme/web/manifests/latest'), 200)
    const successor = first.body.refresh_token ?? ''
    assert.equal((await use(successor)).status, 200)
    clockOffset = 61_000
    assert.equal((await use(token)).status, 401, 'a token that is used twice ends its sign-in')
    clockOffset = 0
    assert.equal(await statusOf(first.body.token, 'GET', '/v2/acme/web/manifests/latest'), 401)
  })

  test('are not issued for refresh tokens of another audience, which are not used up', async () => {
    const { store, keys, secret, config } = platform
    const { authUrl, baseUrl } = config
    const tokens = openRefreshTokens({ store, keys, secret, authUrl, baseUrl, now, random: randomBytes })
    const { identity } = await platform.addUser('hal@example.com')
    const signIn = tokens.start({ person: identity, signedInAt: Math.floor(now() / 1000) })
    const { token } = await tokens.issue(signIn, 'https://auth.example.com')
    const refused = await postToken(url, { grant_type: 'refresh_token', refresh_token: token })
    assert.equal(refused.status, 403)
    clockOffset = 61_000
    await tokens.use(token, [], {})
    clockOffset = 0
  })

  test('are not issued for a password that is not an access token', async () => {
    const { status, body } = await getToken(url, [], basic('_token', 'p@ssword'))
    const message = 'the password of the user _token must be an access token'
    assert.deepEqual([status, body.errors], [401, [{ code: 'UNAUTHORIZED', message }]])
  })

  test('are issued only for complete requests of limited size', async () => {
    const password = platform.owner.token
    const faults: [form: Record<string, string>, message: RegExp][] = [
      [{}, /grant_type/],
      [{ grant_type: 'client_credentials' }, /grant_type/],
      [{ grant_type: 'password', username: '_token' }, /password/],
      [{ grant_type: 'password', username: 'a:b', password }, /username/],
      [{ grant_type: 'refresh_token' }, /refresh_token/],
    ]
    for (const [form, message] of faults) {
      const { status, body } = await postToken(url, form)
      assert.equal(status, 400)
      assert.match(body.errors?.[0]?.message ?? '', message)
    }
    const large = { grant_type: 'password', username: '_token', password: 'x'.repeat(65 * 1024) }
    assert.equal((await postToken(url, large)).status, 413)
    const json = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
    assert.equal((await fetch(`${url}/v2/token`, json)).status, 400)
    assert.equal((await fetch(`${url}/v2/token`, { method: 'PUT' })).status, 405)
    assert.equal((await fetch(`${url}/v2/token`)).status, 401)
    const scope = Array(100).fill('repository:acme/web:pull').join(' ')
    const many = await getToken(url, [scope], ownerBasic)
    assert.equal(many.body.scope.split(' ').length, 20)
  })

  test('are refused with 429 after many wrong passwords, but are issued for the right one', async () => {
    const { uid } = await exchangePlatform.createIdentity()
    const form = { grant_type: 'password', username: uid, password: 'a.b.c' }
    const statuses = new Set<number>()
    for (let count = 0; count < 310; count += 10)
      for (const { status } of await Promise.all(Array.from({ length: 10 }, () => postToken(url, form))))
        statuses.add(status)
    assert.deepEqual([...statuses], [401, 429])
    const honest = await getToken(url, [], basic(uid, await exchangePlatform.issuer.sign()))
    assert.equal(honest.status, 200, 'a right password is never refused')
  })

  test('work with the sequences of requests that docker, containerd, crane and oras send', async () => {
    // docker login: ping, token without a scope, ping; docker push: the scope of the challenge.
    assert.equal((await withChallenge(url, 'GET', '/v2/', ownerBasic)).status, 200)
    const mount = `/v2/acme/docker/blobs/uploads/?mount=${digestOf('layer')}&from=acme/web`
    assert.equal((await withChallenge(url, 'POST', mount, ownerBasic)).status, 201)
    // containerd: POST first. It accepts an error in the first challenge to a request, and gives up if it repeats the
    // request and the next challenge contains an error.
    const form = { grant_type: 'password', client_id: 'containerd-client', service: 'stemma.test' }
    const password = platform.owner.token
    const scope = 'repository:acme/web:pull'
    const posted = await postToken(url, { ...form, scope, username: '_token', password })
    assert.equal(await statusOf(posted.body.token, 'GET', '/v2/acme/web/manifests/latest'), 200)
    const push = await ociClient(url, posted.body.token).send('POST', '/v2/acme/web/blobs/uploads/')
    assert.equal(challengeOf(push).error, 'insufficient_scope')
    assert.equal((await postToken(url, { ...form, username: '_token', password: 'x' })).status, 401)
    // crane: asks for the scopes of all sources at once, as several parameters.
    const scopes = ['repository:acme/crane:push,pull', 'repository:acme/web:pull']
    const crane = ociClient(url, (await getToken(url, scopes, ownerBasic)).body.token)
    await crane.pushImage('acme/crane', 'latest', 'layer')
    await crane.expect(200, 'GET', '/v2/acme/web/manifests/latest')
    // oras: a token for each operation, the actions in alphabetical order.
    const oras = ociClient(url, await tokenFor('repository:acme/crane:delete,pull,push'))
    const init = { body: imageOf('layer'), headers: { 'content-type': types.manifest } }
    await oras.expect(201, 'PUT', '/v2/acme/crane/manifests/v1', init)
    await oras.expect(202, 'DELETE', '/v2/acme/crane/manifests/v1')
  })
})
