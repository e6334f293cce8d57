import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { grpcDoor, restDoor } from '../../testing/doors.ts'
import type { Platform } from '../../testing/platform.ts'
import { startPlatform } from '../../testing/platform.ts'
import { onEachStore } from '../../testing/stores.ts'
import { mintToken } from '../tokens/mint.ts'
import { openKeyRing } from './key-ring.ts'
import { rotateKeys } from './rotation.ts'
import type { KeyDependencies } from './stored-keys.ts'

const { listGroups } = GroupsService.method

onEachStore('keys of the server', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  const depsAt = (now: () => number): KeyDependencies => ({
    ...{ store: platform.store, secret: platform.secret, now, random: randomBytes },
  })

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
    assert.deepEqual(Object.keys(keySet.keys[0] ?? {}).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    const { payload } = await jwtVerify(platform.owner.token, createLocalJWKSet(keySet), { typ: 'at+jwt' })
    assert.equal(payload.sub, platform.owner.identity)
  })

  test('that sign are published before they are used, and stay published as long as their tokens are valid', async () => {
    let time = Date.now()
    const ring = await openKeyRing(depsAt(() => time))
    const { authUrl, baseUrl } = platform.config
    const signer = { keys: ring, authUrl, now: Date.now, random: randomBytes }
    const mint = () => mintToken(signer, { identity: platform.owner.identity, audience: baseUrl })
    const kidOf = (token: string) => decodeProtectedHeader(token).kid
    const oldToken = await mint()
    await rotateKeys(depsAt(Date.now), false)
    await ring.reload()
    // A key for access tokens and a key for id tokens, each with its successor.
    assert.equal(ring.published().length, 2 * 2)
    assert.equal(kidOf(await mint()), kidOf(oldToken))
    const oldPage = ring.page.current.kid
    time += 11 * 60_000
    const newToken = await mint()
    assert.notEqual(kidOf(newToken), kidOf(oldToken))
    assert.notEqual(ring.page.current.kid, oldPage)
    assert.equal(ring.page.find(oldPage)?.retired, true)
    assert.ok(ring.findSigning(kidOf(oldToken) ?? ''))
    time += 3 * 60 * 60_000
    assert.equal(ring.findSigning(kidOf(oldToken) ?? ''), undefined, 'all its tokens have expired')
    assert.equal(ring.published().length, 2)
    // The running server has not read the new keys yet; an unknown kid makes it read them.
    for (const door of [restDoor(platform.url), grpcDoor(platform.url)]) {
      for (const token of [oldToken, newToken]) assert.ok((await door.call(listGroups, {}, token)).body)
      door.close()
    }
    assert.equal((await fetchKeySet()).keys.length, 2 * 2)
  })

  test('that are revoked are replaced at once', async () => {
    const ring = await openKeyRing(depsAt(Date.now))
    const old = ring.published().map(({ kid }) => kid)
    await rotateKeys(depsAt(Date.now), true)
    await ring.reload()
    const kids = ring.published().map(({ kid }) => kid)
    assert.deepEqual(kids, [ring.signing().kid, ring.idTokenSigning().kid])
    assert.ok(!kids.some((kid) => old.includes(kid)))
  })

  test('can be rotated concurrently', async () => {
    await Promise.all([1, 2, 3, 4].map(() => rotateKeys(depsAt(Date.now), false)))
    const ring = await openKeyRing(depsAt(() => Date.now() + 60 * 60_000))
    assert.ok(ring.signing())
    assert.ok(ring.page.current)
  })
})
