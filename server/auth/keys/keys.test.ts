import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { openPageSeals } from '../../aip/page-token.ts'
import { readConfig } from '../../config/config.ts'
import { systemOrigin } from '../../policy/origin.ts'
import { openStore, prepareStore } from '../../storage.ts'
import { serverLog } from '../../store/events/event-row.ts'
import { sql } from '../../store/sql.ts'
import { grpcDoor, restDoor } from '../../testing/doors.ts'
import type { Platform } from '../../testing/platform.ts'
import { startPlatform } from '../../testing/platform.ts'
import { recordedEvents } from '../../testing/sealed-events.ts'
import { onEachStore, temporaryStore } from '../../testing/stores.ts'
import { mintToken } from '../tokens/mint.ts'
import type { KeyRing } from './key-ring.ts'
import { openKeyFinder, openKeyRing } from './key-ring.ts'
import { recordRotation, rotateKeys, rotateOldKeys } from './rotation.ts'
import { makeRsaKey, makeRsaKeyEarly } from './rsa-key.ts'
import type { SigningKey, TokenAlgorithm } from './signing-key.ts'
import type { KeyDependencies } from './stored-keys.ts'

const { listGroups } = GroupsService.method

const record = () => recordRotation({ origin: systemOrigin('server', 'a test') }, false)

onEachStore('keys of the server', (engine) => {
  let platform: Platform
  let aheadMs = 0
  before(async () => {
    platform = await startPlatform(engine, [], { now: () => Date.now() + aheadMs })
  })
  after(() => platform.stop())

  const depsAt = (now: () => number, tokenAlgorithm: TokenAlgorithm = 'RS256'): KeyDependencies => ({
    ...{ store: platform.store, secret: platform.secret, tokenAlgorithm, now, random: randomBytes },
  })

  const mintWith = (keys: KeyRing) => {
    const { authUrl, baseUrl } = platform.config
    const signer = { keys, authUrl, now: Date.now, random: randomBytes }
    return mintToken(signer, { identity: platform.owner.identity, audience: baseUrl })
  }

  const assertAccepted = async (...tokens: string[]) => {
    // For a token with an unknown key, the server reads its keys again, but only once a second.
    aheadMs += 1000
    for (const door of [restDoor(platform.url), grpcDoor(platform.url)]) {
      for (const token of tokens) {
        const { body, error } = await door.call(listGroups, {}, token)
        assert.ok(body, error?.message)
      }
      door.close()
    }
  }

  const fetchKeySet = async () => {
    const document = (await (await fetch(`${platform.url}/.well-known/openid-configuration`)).json()) as {
      issuer: string
      jwks_uri: string
    }
    assert.equal(document.issuer, platform.config.authUrl)
    const path = new URL(document.jwks_uri).pathname
    const answer = await fetch(platform.url + path)
    assert.equal(answer.headers.get('cache-control'), 'max-age=300')
    return (await answer.json()) as { keys: { kid: string; d?: string }[] }
  }

  test('that sign are published without their private part', async () => {
    const keySet = await fetchKeySet()
    assert.deepEqual(
      keySet.keys.map((key) => Object.keys(key).sort()),
      [['alg', 'e', 'kid', 'kty', 'n', 'use']],
    )
    const { payload } = await jwtVerify(platform.owner.token, createLocalJWKSet(keySet), { typ: 'at+jwt' })
    assert.equal(payload.sub, platform.owner.identity)
  })

  test('that sign are published before they are used, and stay published as long as their tokens are valid', async () => {
    let time = Date.now()
    const ring = await openKeyRing(depsAt(() => time))
    const mint = () => mintWith(ring)
    const kidOf = (token: string) => decodeProtectedHeader(token).kid
    const oldToken = await mint()
    await rotateKeys(depsAt(Date.now), false, record)
    await ring.reload()
    assert.equal(ring.published().length, 2, 'the key and its successor')
    assert.equal(kidOf(await mint()), kidOf(oldToken))
    const oldPage = ring.page.current.kid
    time += 11 * 60_000
    const newToken = await mint()
    assert.notEqual(kidOf(newToken), kidOf(oldToken))
    assert.notEqual(ring.page.current.kid, oldPage)
    assert.ok(ring.findSigning(kidOf(oldToken) ?? ''))
    time += 3 * 60 * 60_000
    assert.equal(ring.findSigning(kidOf(oldToken) ?? ''), undefined, 'all its tokens have expired')
    assert.equal(ring.published().length, 1)
    // The running server has not read the new keys yet; an unknown kid makes it read them.
    await assertAccepted(oldToken, newToken)
    assert.equal((await fetchKeySet()).keys.length, 2)
  })

  test('that seal page tokens open these for three days, however often the keys are rotated, unless they are revoked', async () => {
    let time = Date.now()
    const deps = depsAt(() => time)
    const ring = await openKeyRing(deps)
    const seals = openPageSeals(ring.page, deps.now, randomBytes)
    const query = { method: 'ListGroups', fingerprint: '' }
    const token = seals.seal(query, ['a'])
    const day = 24 * 60 * 60_000
    for (const age of [1, 2, 3]) {
      await rotateKeys(deps, false, record)
      await ring.reload()
      time += day
      assert.deepEqual(seals.open(query, token), ['a'], `after ${age} days`)
    }
    time += 1
    assert.equal(seals.open(query, token), undefined, 'the token has expired')
    await rotateKeys(depsAt(Date.now), true, record)
    await ring.reload()
    assert.throws(() => seals.open(query, token), /must be the next_page_token/)
  })

  test('that are revoked are replaced at once', async () => {
    const ring = await openKeyRing(depsAt(Date.now))
    const old = ring.published().map(({ kid }) => kid)
    await rotateKeys(depsAt(Date.now), true, record)
    await ring.reload()
    const kids = ring.published().map(({ kid }) => kid)
    assert.deepEqual(kids, [ring.signing().kid])
    assert.equal(ring.idTokenSigning().kid, ring.signing().kid, 'one key signs access tokens and id tokens')
    assert.ok(!kids.some((kid) => old.includes(kid)))
  })

  test('can be rotated concurrently', async () => {
    await Promise.all([1, 2, 3, 4].map(() => rotateKeys(depsAt(Date.now), false, record)))
    const ring = await openKeyRing(depsAt(() => Date.now() + 60 * 60_000))
    assert.ok(ring.signing())
    assert.ok(ring.page.current)
  })

  test('are rotated once when they are 90 days old, even by several copies, and this is recorded', async () => {
    const { store } = platform
    const countRotations = async () => {
      const [[count] = []] = await store.query(
        sql`select count(*) from ${recordedEvents} where group_uid = ${serverLog} and kind = 'keys' and action = 'rotated'`,
      )
      return Number(count)
    }
    await rotateKeys(depsAt(Date.now), false, record)
    const before = await countRotations()
    const day = 24 * 60 * 60_000
    for (const [days, rotations] of [
      [89, 0],
      [91, 1],
      [92, 1],
    ] as const) {
      const deps = depsAt(() => Date.now() + days * day)
      await Promise.all([1, 2, 3].map(() => rotateOldKeys(deps, record)))
      assert.equal((await countRotations()) - before, rotations, `after ${days} days`)
    }
  })

  describe('of another algorithm than the setting', () => {
    test('sign valid tokens, and are published as long as these are valid', async () => {
      let time = Date.now()
      const es256 = await openKeyRing(depsAt(() => time, 'ES256'))
      const rs256 = await openKeyRing(depsAt(() => time))
      const tokens = [await mintWith(es256), await mintWith(rs256)]
      assert.deepEqual(
        tokens.map((token) => decodeProtectedHeader(token).alg),
        ['ES256', 'RS256'],
      )
      await assertAccepted(...tokens)
      const algorithmsOf = (ring: KeyRing) => new Set(ring.published().map(({ alg }) => alg))
      assert.deepEqual(algorithmsOf(rs256), new Set(['RS256', 'ES256']))
      await rotateKeys(
        depsAt(() => time),
        false,
        record,
      )
      await rs256.reload()
      assert.deepEqual(algorithmsOf(rs256), new Set(['RS256', 'ES256']))
      assert.ok(rs256.findSigning(es256.signing().kid))
      time += 3 * 60 * 60_000
      assert.deepEqual(algorithmsOf(rs256), new Set(['RS256']), 'all tokens of the ES256 key have expired')
    })

    test('get a successor from a copy that uses them, after a copy with another setting has rotated or revoked them', async () => {
      const ring = await openKeyRing(depsAt(Date.now, 'ES256'))
      const old = ring.signing().kid
      for (const isRevoked of [false, true]) {
        await rotateKeys(depsAt(Date.now), isRevoked, record)
        await ring.reload()
        assert.equal(ring.signing().kid === old, !isRevoked)
        const later = await openKeyRing(depsAt(() => Date.now() + 60 * 60_000, 'ES256'))
        assert.notEqual(later.signing().kid, old, 'there is a successor')
      }
    })
  })
})

onEachStore('a new store', (engine) => {
  test('gets one RSA key and, only if ES256 is set, an ES256 key that signs the access tokens', async () => {
    for (const [algorithm, published] of [
      ['RS256', ['RS256']],
      ['ES256', ['RS256', 'ES256']],
    ] as const) {
      const temporary = await temporaryStore(engine)
      const { config } = readConfig({}, [...temporary.settings, '--token-algorithm', algorithm])
      const store = openStore(config)
      let count = 0
      const countingMake = () => {
        count++
        return makeRsaKey()
      }
      const open = async () => (await prepareStore(config, store, { makeRsaKey: countingMake })).keys
      try {
        const keys = await open()
        assert.deepEqual(
          keys.published().map(({ alg }) => alg),
          published,
        )
        assert.deepEqual([keys.signing().algorithm, keys.idTokenSigning().algorithm], [algorithm, 'RS256'])
        assert.deepEqual((await open()).published(), keys.published(), 'the keys are stored')
        assert.equal(count, 1)
      } finally {
        await store.close()
        await temporary.remove()
      }
    }
  })
})

test('concurrent calls with the key of another copy wait until the keys are read, which happens once', async () => {
  let readCount = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const key = { kid: 'new' } as SigningKey // nothing else is read
  let keys: SigningKey[] = []
  const ring = {
    findSigning: (kid: string) => keys.find((each) => each.kid === kid),
    async reload() {
      readCount++
      await promise
      keys = [key]
    },
  } as unknown as KeyRing // nothing else is called
  const find = openKeyFinder(ring, () => 10_000)
  const found = Promise.all([find('new'), find('new'), find('unknown')])
  resolve()
  assert.deepEqual([await found, readCount], [[key, key, undefined], 1])
})

test('an RSA key that is begun early is used once', async () => {
  let count = 0
  const make = makeRsaKeyEarly(async () => ({ kty: 'RSA', n: String(++count) }))
  assert.equal(count, 1, 'it is begun before it is needed')
  assert.deepEqual([(await make()).n, (await make()).n, count], ['1', '2', 2])
})
