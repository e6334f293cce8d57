// Pull tokens: created, used by registry clients, listed and revoked.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { PullTokensService } from '@stemma/api/gen/platform/registry/v2beta1/pull_token_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { ociClient } from './oci-client.ts'
import { basic, getToken } from './token-client.ts'

const { createPullToken, getPullToken, listPullTokens, deletePullToken } = PullTokensService.method
const { exchange } = SecurityTokenService.method
const dayMs = 24 * 60 * 60 * 1000

type Created = JsonObject & { uid: string; username: string; password: string; expirationTime: string }

onEachStore('pull tokens', (engine) => {
  let platform: Platform
  let rest: Door
  let doors: Door[]
  let url: string
  let clockOffset = 0
  const now = () => Date.now() + clockOffset
  before(async () => {
    platform = await startPlatform(engine, [], { now })
    url = platform.url
    rest = restDoor(url)
    doors = [rest, grpcDoor(url)]
    const owner = ociClient(url, platform.owner.token)
    for (const name of ['web', 'other']) await owner.pushImage(`acme/${name}`, 'latest', name)
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  async function asOwner(method: DescMethod, request: JsonObject, door = rest): Promise<JsonObject> {
    const { body, error } = await door.call(method, request, platform.owner.token)
    assert.ok(body, error?.message)
    return body
  }
  const createIn = async (parent: string, pullToken: JsonObject, door = rest) =>
    (await asOwner(createPullToken, { parent, pullToken }, door)) as Created
  const make = (pullToken: JsonObject = {}, door = rest) =>
    createIn(platform.owner.organization, { name: 'ci', ...pullToken }, door)
  const uidOf = async (name: string) => {
    const { repos } = (await asOwner(ReposService.method.listRepos, { name })) as { repos: { uid: string }[] }
    return repos[0]?.uid ?? ''
  }
  const errorOf = async (request: JsonObject, token = platform.owner.token) =>
    (await rest.call(createPullToken, request, token)).error
  /** The status of a pull with a password, through the token endpoint and directly. */
  async function pull({ username, password }: Created, name = 'acme/web'): Promise<number[]> {
    const authorization = basic(username, password)
    const { status, body } = await getToken(url, [`repository:${name}:pull`], authorization)
    const path = `/v2/${name}/manifests/latest`
    const direct = await fetch(`${url}${path}`, { headers: { authorization } })
    if (status !== 200) return [status, direct.status]
    return [(await ociClient(url, body.token).send('GET', path)).status, direct.status]
  }
  const atTime = async <T>(offset: number, action: () => Promise<T>) => {
    clockOffset = offset
    try {
      return await action()
    } finally {
      clockOffset = 0
    }
  }

  test('are a user name and a password with which clients can pull but not push', async () => {
    for (const door of doors) {
      const created = await make({ description: 'builds' }, door)
      const { uid, username, password, expirationTime, expired, description } = created
      assert.deepEqual([username, expired, description], [uid, false, 'builds'])
      const { exp = 0, iat = 0, sub, aud } = decodeJwt(password)
      assert.deepEqual([sub, aud, exp - iat], [uid, 'http://stemma.test', 30 * 24 * 60 * 60])
      assert.equal(Date.parse(expirationTime), exp * 1000)
      assert.deepEqual(await pull(created), [200, 200])
      const authorization = basic(username, password)
      const { body } = await getToken(url, ['repository:acme/web:*'], authorization)
      assert.equal(body.scope, 'repository:acme/web:pull')
      const push = await fetch(`${url}/v2/acme/web/blobs/uploads/`, {
        method: 'POST',
        headers: { authorization },
      })
      assert.equal(push.status, 403)
    }
  })

  test('work until they expire, also when they are older than a day', async () => {
    const created = await make({ ttl: '31536000s' })
    assert.deepEqual(await atTime(364 * dayMs, () => pull(created)), [200, 200])
    // The password was verified 290 seconds ago, and this result is cached. Tokens still get their whole lifetime.
    await atTime(364 * dayMs + 290_000, async () => {
      const { body } = await getToken(url, [], basic(created.username, created.password))
      const { exp = 0, iat = 0 } = decodeJwt(body.token)
      assert.equal(exp - iat, 300)
    })
    assert.deepEqual(await atTime(365 * dayMs + 1000, () => pull(created)), [401, 401])
    const shown = await atTime(366 * dayMs, async () => {
      const token = await platform.tokenOf(platform.owner.identity)
      return (await rest.call(getPullToken, { uid: created.uid }, token)).body
    })
    assert.equal(shown?.expired, true)
  })

  test('expire with the keys of their identity if a published client has signed them', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256')
    const issuer = 'https://issuer.example.com'
    const keys = [{ ...(await exportJWK(publicKey)), kid: 'one' }]
    const staticKeys = {
      ...{ issuer, subject: 'robot', issuerKeys: JSON.stringify({ keys }) },
      expirationTime: new Date(now() + 2 * dayMs).toISOString(),
    }
    const { uid } = (await asOwner(IdentitiesService.method.createIdentity, {
      ...{ parent: platform.owner.organization, identity: { name: 'robot', staticKeys } },
    })) as { uid: string }
    await platform.bind(uid, 'registry.pull', platform.owner.organization)
    const iat = Math.floor(now() / 1000)
    const claims = { iss: issuer, sub: 'robot', aud: 'http://stemma.test', iat, exp: iat + 365 * 86400 }
    const password = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .sign(privateKey)
    const robot = { uid, username: uid, password, expirationTime: '' }
    assert.deepEqual(await pull(robot), [200, 200])
    await atTime(2 * dayMs - 100_000, async () => {
      const { body } = await getToken(url, [], basic(uid, password))
      const { exp = 0 } = decodeJwt(body.token)
      assert.ok(exp * 1000 <= Date.parse(staticKeys.expirationTime))
    })
    assert.deepEqual(await atTime(2 * dayMs + 1000, () => pull(robot)), [401, 401])
  })

  test('are revoked at once, together with the access tokens that were issued for them', async () => {
    for (const door of doors) {
      const created = await make()
      const { body } = await getToken(url, ['repository:acme/web:pull'], basic(created.uid, created.password))
      const client = ociClient(url, body.token)
      await client.expect(200, 'GET', '/v2/acme/web/manifests/latest')
      assert.deepEqual(await asOwner(deletePullToken, { uid: created.uid }, door), {})
      await client.expect(401, 'GET', '/v2/acme/web/manifests/latest')
      assert.deepEqual(await pull(created), [401, 401])
      const again = await door.call(deletePullToken, { uid: created.uid }, platform.owner.token)
      assert.equal(again.error?.code, 5)
      const { totalCount } = await asOwner(RoleBindingsService.method.listRoleBindings, {
        identity: created.uid,
      })
      assert.equal(totalCount, '0')
    }
    const created = await make()
    await platform.unbind(created.uid)
    assert.deepEqual(await pull(created), [401, 403])
  })

  test('can be limited to one repo', async () => {
    const repoUid = await uidOf('web')
    const created = await make({ repoUid })
    assert.equal(created.repoUid, repoUid)
    assert.deepEqual(await pull(created), [200, 200])
    assert.deepEqual(await pull(created, repoUid), [200, 200])
    assert.deepEqual(await pull(created, 'acme/other'), [401, 403])
    // The limit holds in the API as well.
    const { body } = await rest.call(exchange, { identity: created.uid }, created.password)
    const token = String(body?.token)
    const { body: list } = await rest.call(ReposService.method.listRepos, {}, token)
    assert.deepEqual(
      (list?.repos as JsonObject[]).map(({ uid }) => uid),
      [repoUid],
    )
    const elsewhere = await platform.addOrganization('elsewhere')
    for (const wrong of ['web', platform.owner.organization, `${elsewhere.organization}/${'0'.repeat(16)}`]) {
      const request = { parent: platform.owner.organization, pullToken: { name: 'ci', repoUid: wrong } }
      const error = await errorOf(request)
      assert.equal(error?.code, 3)
      assert.match(error?.message ?? '', /repo_uid|repoUid/)
    }
  })

  test('are not accepted by the API, and tokens exchanged for them allow only what their role allows', async () => {
    const created = await make()
    for (const door of doors) {
      const direct = await door.call(GroupsService.method.listGroups, {}, created.password)
      assert.equal(direct.error?.code, 16, door.name)
      const { body } = await door.call(exchange, { identity: created.uid }, created.password)
      const token = String(body?.token)
      const group = { parent: platform.owner.organization, group: { name: 'x' } }
      assert.equal((await door.call(GroupsService.method.createGroup, group, token)).error?.code, 7)
      // Tokens older than a day cannot be exchanged. Only the registry still accepts the password.
      const later = await atTime(2 * dayMs, () =>
        door.call(exchange, { identity: created.uid }, created.password),
      )
      assert.equal(later.error?.code, 16, door.name)
    }
    const other = await make()
    assert.deepEqual(await pull({ ...created, username: other.uid }), [401, 401])
  })

  test('keep the keys of their identity, whose other fields can be changed', async () => {
    const { updateIdentity } = IdentitiesService.method
    for (const door of doors) {
      const name = randomUUID()
      const { uid } = await make({ name }, door)
      for (const relationship of [
        { claimMatch: { issuer: 'https://issuer.example.com', subject: 'robot' } },
        { staticKeys: { issuer: 'https://issuer.example.com', subject: 'robot', issuerKeys: '{"keys":[]}' } },
      ]) {
        const request = { identity: { uid, ...relationship } }
        const { error } = await door.call(updateIdentity, request, platform.owner.token)
        assert.equal(error?.code, 9)
      }
      await asOwner(updateIdentity, { identity: { uid, description: 'renewed' } }, door)
      const { pullTokens } = await asOwner(listPullTokens, { name }, door)
      assert.deepEqual(pullTokens, [await asOwner(getPullToken, { uid }, door)])
    }
  })

  test('are listed in pages, without their passwords and without other identities', async () => {
    const parent = (
      await asOwner(GroupsService.method.createGroup, {
        ...{ parent: platform.owner.organization, group: { name: 'listed' } },
      })
    ).uid as string
    await platform.addIdentity(parent, 'registry.pull')
    for (const name of ['c', 'a', 'b']) await createIn(parent, { name, ttl: '60s' })
    for (const door of doors) {
      const page = await asOwner(
        listPullTokens,
        { uidp: { childrenOf: parent }, orderBy: 'name desc', pageSize: 2 },
        door,
      )
      const names = (page.pullTokens as JsonObject[]).map(({ name }) => name)
      assert.deepEqual([names, page.totalCount, page.skipped], [['c', 'b'], '3', 0])
      const next = await asOwner(
        listPullTokens,
        {
          ...{ uidp: { childrenOf: parent }, orderBy: 'name desc', pageSize: 2 },
          pageToken: page.nextPageToken as string,
        },
        door,
      )
      assert.deepEqual(
        (next.pullTokens as JsonObject[]).map(({ name }) => name),
        ['a'],
      )
      const pageToken = page.nextPageToken as string
      const order = { uidp: { childrenOf: parent }, orderBy: 'name desc' }
      for (const [method, request] of [
        [listPullTokens, { ...order, name: 'a' }],
        [IdentitiesService.method.listIdentities, order],
      ] as const) {
        const { error } = await door.call(method, { ...request, pageToken }, platform.owner.token)
        assert.match(error?.message ?? '', /page_?token/i)
      }
      const named = await asOwner(listPullTokens, { uidp: { childrenOf: parent }, name: 'b' }, door)
      const [token] = named.pullTokens as [JsonObject]
      assert.deepEqual([named.totalCount, token.password, token.expired], ['1', undefined, false])
      assert.deepEqual(await asOwner(getPullToken, { uid: token.uid as string }, door), token)
    }
    const { totalCount } = await asOwner(IdentitiesService.method.listIdentities, {
      uidp: { childrenOf: parent },
    })
    assert.equal(totalCount, '4')
    const [other] = (
      (await asOwner(IdentitiesService.method.listIdentities, { uidp: { childrenOf: parent } }))
        .identities as JsonObject[]
    ).filter(({ pullToken }) => pullToken === undefined)
    const uid = String(other?.uid)
    for (const method of [getPullToken, deletePullToken])
      assert.equal((await rest.call(method, { uid }, platform.owner.token)).error?.code, 5)
  })

  test('can be created by callers who may create identities and role bindings and who may pull', async () => {
    const parent = platform.owner.organization
    const request = { parent, pullToken: { name: 'ci' } }
    const creator = await platform.addIdentity(parent, 'registry.pull_token_creator')
    assert.equal(await errorOf(request, creator.token), undefined)
    const few = await platform.addIdentityWith(parent, [
      'CAP_IAM_IDENTITY_CREATE',
      'CAP_IAM_ROLE_BINDINGS_CREATE',
    ])
    const refused = { parent, pullToken: { name: 'refused' } }
    assert.equal((await errorOf(refused, few.token))?.code, 7)
    const { totalCount } = await asOwner(listPullTokens, { uidp: { childrenOf: parent }, name: 'refused' })
    assert.equal(totalCount, '0', 'nothing is left of a refused creation')
    for (const role of ['viewer', 'editor', 'registry.push']) {
      const { token } = await platform.addIdentity(parent, role)
      assert.equal((await errorOf(request, token))?.code, 7, role)
    }
    for (const ttl of ['59s', '31536001s', '0s', '-1s'])
      assert.equal((await errorOf({ parent, pullToken: { name: 'ci', ttl } }))?.code, 3, ttl)
    for (const name of ['', 'Upper', 'a/b'])
      assert.equal((await errorOf({ parent, pullToken: { name } }))?.code, 3)
  })

  test('are created once for an idempotency key, and their identity contains neither password nor private key', async () => {
    const request = { parent: platform.owner.organization, pullToken: { name: 'once' } }
    const headers = { 'idempotency-key': randomUUID() }
    const send = () => rest.send(createPullToken, request, platform.owner.token, headers)
    const [first, second] = [await send(), await send()]
    assert.deepEqual(first.result.body, second.result.body)
    const { uid, password } = first.result.body as Created
    const identity = JSON.stringify(await asOwner(IdentitiesService.method.getIdentity, { uid }))
    assert.ok(!identity.includes(password))
    assert.ok(!identity.includes('"d"'), 'the private key is not kept')
    const { totalCount } = await asOwner(listPullTokens, { name: 'once' })
    assert.equal(totalCount, '1')
  })

  test('count towards the limits of their group', async () => {
    // The owner is the first identity.
    const limited = await startPlatform(engine, ['--default-limits', 'identities=2'])
    try {
      const { parent, pullToken } = { parent: limited.owner.organization, pullToken: { name: 'ci' } }
      const door = restDoor(limited.url)
      const create = () => door.call(createPullToken, { parent, pullToken }, limited.owner.token)
      const codes = [(await create()).error?.code, (await create()).error?.code]
      assert.deepEqual(codes, [undefined, 8])
      door.close()
    } finally {
      await limited.stop()
    }
  })
})
