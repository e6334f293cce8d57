import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { decodeJwt } from 'jose'
import { digestOf } from '../../crypto/digest.ts'
import { sql } from '../../store/sql.ts'
import type { Door } from '../../testing/doors.ts'
import { grpcDoor, restDoor } from '../../testing/doors.ts'
import type { Platform } from '../../testing/platform.ts'
import { startPlatform } from '../../testing/platform.ts'
import { onEachStore } from '../../testing/stores.ts'
import { disablePerson, signOutEverywhere } from '../sign-outs.ts'
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
    const { store, keys, secret, config } = platform
    const { authUrl, baseUrl } = config
    tokens = openRefreshTokens({ store, keys, secret, authUrl, baseUrl, now, random: randomBytes })
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
  const idOf = (token: string): string => JSON.parse(Buffer.from(token, 'base64').toString()).id
  const statusWith = async (accessToken: string) => {
    const headers = { authorization: `Bearer ${accessToken}` }
    return (await fetch(`${platform.url}/auth/v1/ok`, { headers })).status
  }
  const use = async (door: Door, token: string, request = {}) => {
    const { body, error } = await door.call(exchangeRefreshToken, request, token)
    return { pair: body as Pair | undefined, code: error?.code ?? 0 }
  }

  test('are base64 of JSON with their expiry, as published clients read them', async () => {
    const token = await issue()
    assert.match(token, /^[A-Za-z0-9+/]+={0,2}$/)
    const { exp, iat, sub, iss, aud } = JSON.parse(Buffer.from(token, 'base64').toString())
    // Measured from the sign-in, which may be a second earlier.
    const days = 24 * 60 * 60
    assert.ok(exp - iat <= 30 * days && exp - iat > 29 * days, String(exp - iat))
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

  test('yield access tokens with the verified e-mail address of the person', async () => {
    const ada = await platform.addUser('ada@example.com')
    let token = await issueTo(ada.identity)
    for (const door of doors) {
      const { pair } = await use(door, token)
      const { email, email_verified, act } = decodeJwt(pair?.token.token ?? '')
      assert.deepEqual([email, email_verified], ['ada@example.com', true])
      const { authUrl } = platform.config
      assert.deepEqual(act, { iss: authUrl, sub: ada.identity, aud: authUrl })
      token = pair?.refreshToken.token ?? ''
    }
    const { pair } = await use(doors[0] as Door, await issue())
    assert.ok(!('email' in decodeJwt(pair?.token.token ?? '')))
  })

  const afterGracePeriod = async (action: () => Promise<void>) => {
    clockOffset = 61_000
    try {
      await action()
    } finally {
      clockOffset = 0
    }
  }

  describe('that are used again within a minute', () => {
    test('yield the same successor and another access token', async () => {
      const [rest, grpc] = doors as [Door, Door]
      const token = await issue()
      const first = (await use(rest, token)).pair
      clockOffset = 45_000
      const second = (await use(grpc, token)).pair
      assert.equal(second?.refreshToken.token, first?.refreshToken.token)
      for (const pair of [first, second])
        assert.equal(await statusWith(pair?.token.token ?? ''), 200, 'both access tokens work')
      clockOffset = 0
      const third = (await use(rest, second?.refreshToken.token ?? '')).pair
      assert.ok(third, 'the successor works')
    })

    test('yield one successor however many programs use them at the same time', async () => {
      const token = await issue()
      const uses = await Promise.all([0, 1, 0, 1, 0, 1].map((at) => use(doors[at] as Door, token)))
      assert.deepEqual(
        uses.map(({ code }) => code),
        Array(6).fill(0),
      )
      assert.equal(new Set(uses.map(({ pair }) => pair?.refreshToken.token)).size, 1)
      const [row] = await platform.store.query(
        sql`select count(*) from refresh_tokens where is_used = 0 and family =
          (select family from refresh_tokens where id = ${idOf(token)})`,
      )
      assert.equal(Number(row?.[0]), 1)
    })

    test('yield the newest token if the successor was used too', async () => {
      const [rest] = doors as [Door]
      const token = await issue()
      let newest = token
      for (let count = 0; count < 3; count++)
        newest = (await use(rest, newest)).pair?.refreshToken.token ?? ''
      const repeated = (await use(rest, token)).pair?.refreshToken.token
      assert.equal(repeated, newest)
      assert.equal((await use(rest, newest)).code, 0)
    })

    test('yield an access token with the audience and limits of the repeated request', async () => {
      const [rest] = doors as [Door]
      const token = await issue()
      const { host } = new URL(platform.config.baseUrl)
      const first = (await use(rest, token)).pair
      const second = (await use(rest, token, { aud: [host], cap: ['groups.list'] })).pair
      const { aud, cap } = decodeJwt(second?.token.token ?? '')
      assert.deepEqual([aud, cap], [host, ['groups.list']])
      assert.equal(second?.refreshToken.token, first?.refreshToken.token)
    })

    test('are refused if meanwhile the person was signed out, disabled or deleted, or the family was revoked', async () => {
      const [rest] = doors as [Door]
      const endings: ((identity: string, successor: string) => Promise<unknown>)[] = [
        (identity) => platform.store.write(() => signOutEverywhere(identity, now())),
        (identity) => platform.store.write(() => disablePerson(identity, now())),
        (_, successor) => tokens.revoke(successor),
        (identity) => platform.deleteIdentity(identity),
      ]
      for (const end of endings) {
        const { identity } = await platform.addIdentity('')
        const token = await issueTo(identity)
        const { pair } = await use(rest, token)
        const successor = pair?.refreshToken.token ?? ''
        await end(identity, successor)
        for (const each of [token, successor]) assert.equal((await use(rest, each)).code, 16)
        assert.equal(await statusWith(pair?.token.token ?? ''), 401)
      }
    })

    test('are refused, without ending the sign-in, if an earlier version of the server issued their successor', async () => {
      const [rest] = doors as [Door]
      const token = await issue()
      const successor = (await use(rest, token)).pair?.refreshToken.token ?? ''
      const secret = randomBytes(32).toString('base64url')
      await platform.store.write(function* () {
        yield sql`update refresh_tokens set digest = ${digestOf(secret)} where id = ${idOf(successor)}`
      })
      assert.equal((await use(rest, token)).code, 16)
      const content = JSON.parse(Buffer.from(successor, 'base64').toString())
      const withRandomSecret = Buffer.from(JSON.stringify({ ...content, secret })).toString('base64')
      assert.equal((await use(rest, withRandomSecret)).code, 0)
    })
  })

  describe('that are used again later', () => {
    test('end all tokens of the same sign-in at once, and no others', async () => {
      for (const door of doors) {
        const first = await issue()
        const other = await issue()
        const { pair } = await use(door, first)
        const access = pair?.token.token ?? ''
        assert.equal(await statusWith(access), 200)
        await afterGracePeriod(async () => {
          assert.equal((await use(door, first)).code, 16)
          assert.equal((await use(door, pair?.refreshToken.token ?? '')).code, 16)
          assert.equal(await statusWith(access), 401)
          assert.equal((await use(door, other)).code, 0, 'another sign-in is not affected')
        })
      }
    })

    test('end the sign-in, even if their successor is used at the same time', async () => {
      const [rest, grpc] = doors as [Door, Door]
      for (let round = 0; round < 15; round++) {
        const stolen = await issue()
        const next = (await use(rest, stolen)).pair?.refreshToken.token
        assert.ok(next)
        await afterGracePeriod(async () => {
          const [honest, thief] = await Promise.all([use(rest, next), use(grpc, stolen)])
          assert.equal(thief.code, 16)
          // The honest program gets a token only if its call was the first.
          const last = honest.pair?.refreshToken.token ?? next
          for (const token of [stolen, next, last]) assert.equal((await use(rest, token)).code, 16)
        })
      }
    })

    test('end the sign-in if a thief got the same token within the grace period', async () => {
      const [rest, grpc] = doors as [Door, Door]
      const shared = await issue()
      const honest = (await use(rest, shared)).pair?.refreshToken.token ?? ''
      const stolen = (await use(grpc, shared)).pair?.refreshToken.token ?? ''
      const next = (await use(rest, honest)).pair
      await afterGracePeriod(async () => {
        assert.equal((await use(grpc, stolen)).code, 16)
        assert.equal((await use(rest, next?.refreshToken.token ?? '')).code, 16)
        assert.equal(await statusWith(next?.token.token ?? ''), 401)
      })
    })

    test('end the sign-in if an earlier version of the server has marked them as used', async () => {
      const [rest] = doors as [Door]
      const token = await issue()
      await use(rest, token)
      await platform.store.write(function* () {
        yield sql`update refresh_tokens set use_time = null where id = ${idOf(token)}`
      })
      assert.equal((await use(rest, token)).code, 16)
    })
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
