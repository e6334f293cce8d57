import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { decodeJwt } from 'jose'
import { sql } from '../../store/sql.ts'
import type { Door } from '../../testing/doors.ts'
import { grpcDoor, restDoor } from '../../testing/doors.ts'
import type { Platform } from '../../testing/platform.ts'
import { startPlatform } from '../../testing/platform.ts'
import { onEachStore } from '../../testing/stores.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import { openRefreshTokens } from './refresh-tokens.ts'

const { exchangeRefreshToken } = SecurityTokenService.method

type Pair = { token: { token: string; expiry: string }; refreshToken: { token: string; expiry: string } }

onEachStore('refresh tokens', (engine) => {
  let platform: Platform
  let doors: Door[]
  let tokens: RefreshTokens
  let clockOffset = 0
  const now = () => Date.now() + clockOffset
  before(async () => {
    platform = await startPlatform(engine, [], { now })
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    const { store, keys, config } = platform
    const { authUrl, baseUrl } = config
    tokens = openRefreshTokens({ store, keys, authUrl, baseUrl, now, random: randomBytes })
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  const issueTo = async (identity: string) => {
    const signIn = tokens.start({ person: identity, signedInAt: Math.floor(now() / 1000) })
    return (await tokens.issue(signIn, platform.config.baseUrl)).token
  }
  const issue = () => issueTo(platform.owner.identity)
  const use = async (door: Door, token: string, request = {}) => {
    const { body, error } = await door.call(exchangeRefreshToken, request, token)
    return { pair: body as Pair | undefined, code: error?.code ?? 0 }
  }

  test('are base64 of JSON with their expiry, as published clients read them', async () => {
    const token = await issue()
    assert.match(token, /^[A-Za-z0-9+/]+={0,2}$/)
    const { exp, iat, sub, iss, aud } = JSON.parse(Buffer.from(token, 'base64').toString())
    assert.equal(exp - iat, 30 * 24 * 60 * 60)
    assert.deepEqual([sub, iss, aud], [platform.owner.identity, 'http://stemma.test', 'http://stemma.test'])
  })

  test('yield an access token and the next refresh token', async () => {
    let token = await issue()
    for (const door of [...doors, ...doors]) {
      const { pair } = await use(door, token)
      assert.ok(pair)
      assert.equal(decodeJwt(pair.token.token).sub, platform.owner.identity)
      assert.equal(Date.parse(pair.token.expiry), (decodeJwt(pair.token.token).exp ?? 0) * 1000)
      token = pair.refreshToken.token
    }
  })

  test('that are used twice revoke all refresh tokens of the same sign-in, and no others', async () => {
    for (const door of doors) {
      const first = await issue()
      const other = await issue()
      const second = (await use(door, first)).pair?.refreshToken.token ?? ''
      assert.equal((await use(door, first)).code, 16)
      assert.equal((await use(door, second)).code, 16)
      assert.equal((await use(door, other)).code, 0, 'another sign-in is not affected')
    }
  })

  test('that are used concurrently are accepted once', async () => {
    const token = await issue()
    const codes = await Promise.all([0, 1, 0, 1].map((at) => use(doors[at] as Door, token)))
    assert.deepEqual(codes.map(({ code }) => code).sort(), [0, 16, 16, 16])
  })

  test('that are stolen and used concurrently with their successor end the sign-in, in either order', async () => {
    for (let round = 0; round < 15; round++) {
      const stolen = await issue()
      const [rest, grpc] = doors as [Door, Door]
      const next = (await use(rest, stolen)).pair?.refreshToken.token ?? ''
      const [honest] = await Promise.all([use(rest, next), use(grpc, stolen)])
      const last = honest.pair?.refreshToken.token
      if (last !== undefined) assert.equal((await use(rest, last)).code, 16)
    }
  })

  test('expire 30 days after the sign-in, however often they were renewed', async () => {
    const [door] = doors as [Door]
    const token = await issue()
    clockOffset = 20 * 24 * 60 * 60_000
    const renewed = (await use(door, token)).pair?.refreshToken.token ?? ''
    assert.notEqual(renewed, '')
    clockOffset = 31 * 24 * 60 * 60_000
    assert.equal((await use(door, renewed)).code, 16)
    clockOffset = 0
  })

  test('that are malformed or forged are refused with the same code', async () => {
    const content = JSON.parse(Buffer.from(await issue(), 'base64').toString())
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
    const invalidTokens = [
      ...[
        'x',
        '',
        'e30=',
        encode(null),
        encode([]),
        encode({ ...content, secret: 'x' }),
        encode({ ...content, id: 'x' }),
      ],
      ...[
        encode({ ...content, id: '0'.repeat(32) }),
        encode({ ...content, id: { a: 1 } }),
        encode('x'.repeat(9000)),
      ],
    ]
    for (const door of doors)
      for (const token of invalidTokens) assert.equal((await use(door, token)).code, 16, token)
    assert.equal(
      (await use(doors[0] as Door, encode({ ...content, sub: 'somebody else' }))).code,
      0,
      'the sub in the token is ignored; the stored identity is used',
    )
  })

  test('yield limited access tokens, and are not used up by a request for an unknown audience', async () => {
    const [door] = doors as [Door]
    const { pair } = await use(door, await issue(), { cap: ['groups.list'] })
    assert.deepEqual(decodeJwt(pair?.token.token ?? '').cap, ['groups.list'])
    const token = await issue()
    assert.equal((await use(door, token, { aud: ['https://else.test'] })).code, 3)
    assert.equal((await use(door, token)).code, 0, 'a refused request does not use the token up')
  })

  test('are deleted with their identity, and their secret is not in the store', async () => {
    const user = await platform.addIdentity('')
    const token = await issueTo(user.identity)
    const { secret } = JSON.parse(Buffer.from(token, 'base64').toString())
    const rows = await platform.store.query(
      sql`select * from refresh_tokens where identity = ${user.identity}`,
    )
    assert.equal(rows.length, 1)
    assert.ok(!JSON.stringify(rows).includes(secret))
    await platform.deleteIdentity(user.identity)
    assert.equal((await use(doors[0] as Door, token)).code, 16)
  })

  test('can be revoked', async () => {
    const token = await issue()
    await tokens.revoke(token)
    assert.equal((await use(doors[0] as Door, token)).code, 16)
  })
})
