// Attacks by administrators of a sub-group: their identity provider cannot verify addresses in the
// domain of the organization, and cannot get authorization codes of another provider.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { userUid } from '@stemma/server/aip/uid.ts'
import { sql } from '@stemma/server/store/sql.ts'
import { grpcDoor, restDoor } from '@stemma/server/testing/doors.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type * as oidc from 'openid-client'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { startIssuer } from '../sign-in/foreign-issuer.ts'
import { addIdentityProvider, addVerifiedOrganization, callRest } from '../sign-in/organizations.ts'
import type { PromptlessProvider } from '../sign-in/promptless-provider.ts'
import { startPromptlessProvider } from '../sign-in/promptless-provider.ts'
import { begin, redeem, relyingParty, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const boss = { email: 'boss@acme.example', email_verified: true }

onEachStore('the provider of a sub-group of a verified organization', (engine) => {
  let platform: Platform
  let party: oidc.Configuration
  let honest: PromptlessProvider
  let evil: PromptlessProvider
  let issuer: ForeignIssuer
  let owner: TestIdentity
  let team: string
  let honestUid: string
  let evilUid: string
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startSignInPlatform(engine)
    party = await relyingParty(platform.url)
    honest = await startPromptlessProvider('honest person', boss)
    evil = await startPromptlessProvider('impostor', boss)
    owner = await addVerifiedOrganization(platform, 'acme.example')
    const group = await callRest(
      'POST',
      `${platform.url}/iam/v2beta1/groups/${owner.organization}`,
      owner.token,
      { name: 'team' },
    )
    team = String(group.uid)
    honestUid = await addProvider(honest.issuer, owner.organization)
    evilUid = await addProvider(evil.issuer, team)
  })
  after(async () => {
    await platform.stop()
    honest.close()
    evil.close()
    await issuer.close()
  })

  const addProvider = (issuerUrl: string, group: string, oidcFields: JsonObject = {}) =>
    addIdentityProvider(platform, owner, { issuer: issuerUrl, pkceEnabled: true, ...oidcFields }, group)

  const newVisitor = () => new Visitor(platform.url, honest.issuer, evil.issuer)

  /** Opens the page that asks for confirmation before it redirects to a provider. */
  async function openProvider(uid: string, visitor = newVisitor()) {
    const begun = await begin(party, { idp_id: uid })
    return { begun, visitor, page: await visitor.open(begun.url) }
  }

  async function signIn(uid: string): Promise<string> {
    const { begun, visitor, page } = await openProvider(uid)
    const tokens = await redeem(party, begun, await visitor.submitTo(page, '/organization'))
    return tokens.claims()?.sub ?? ''
  }

  const addressesOf = async (uid: string) => {
    const [row] = await platform.store.query(sql`select json from identities where uid = ${uid}`)
    const { email, emailUnverified } = JSON.parse(String(row?.[0])) as JsonObject
    return { email, emailUnverified }
  }

  test('cannot assert a verified address in the domain of the organization', async () => {
    assert.deepEqual(await addressesOf(await signIn(evilUid)), {
      email: undefined,
      emailUnverified: boss.email,
    })
    assert.deepEqual(await addressesOf(await signIn(honestUid)), {
      email: boss.email,
      emailUnverified: undefined,
    })
  })

  test('is shown as unverified', async () => {
    const warning = /Nobody has verified who this organization is/
    assert.match((await openProvider(evilUid)).page.text, warning)
    assert.doesNotMatch((await openProvider(honestUid)).page.text, warning)
  })

  test('is not found by the domain of the organization', async () => {
    await callRest('DELETE', `${platform.url}/iam/v2beta1/identityProviders/${honestUid}`, owner.token)
    const response = await fetch(`${platform.url}/orgcheck?name=acme.example`)
    assert.equal(await response.json(), false)
    honestUid = await addProvider(honest.issuer, owner.organization)
  })

  test('cannot verify an address: a registration with one of its tokens stores the address as unverified', async () => {
    await addProvider(issuer.issuer, team, { clientId: 'stemma-at-team' })
    for (const [at, door] of [restDoor(platform.url), grpcDoor(platform.url)].entries()) {
      for (const [sub, aud] of [
        [`for-client-${at}`, 'stemma-at-team'],
        [`for-server-${at}`, platform.config.authUrl],
      ] as const) {
        const { error } = await door.call(Auth.method.register, {}, await issuer.sign({ sub, aud, ...boss }))
        assert.equal(error, undefined)
        const addresses = await addressesOf(userUid(issuer.issuer, sub))
        assert.deepEqual(addresses, { email: undefined, emailUnverified: boss.email })
      }
      door.close()
    }
  })

  test('has a redirect URI of its own', async () => {
    for (const uid of [honestUid, evilUid]) {
      const { visitor, page } = await openProvider(uid)
      const url = new URL(await visitor.submitOnly(page, '/organization'))
      assert.equal(url.searchParams.get('redirect_uri'), `${platform.config.authUrl}/oauth/callback/${uid}`)
    }
  })

  test('gets no authorization code of another provider of the organization (mix-up attack)', async () => {
    // The attacker knows the client id at the honest provider: it is in the URL of every sign-in there.
    const honestSignIn = await openProvider(honestUid)
    const honestUrl = new URL(await honestSignIn.visitor.submitOnly(honestSignIn.page, '/organization'))
    // The old redirect URI, which names no provider, may still be registered at the honest provider.
    for (const callback of [`/oauth/callback/${honestUid}`, '/oauth/callback']) {
      evil.divert((query) => {
        const onward = new URL(honestUrl)
        onward.searchParams.set('state', query.get('state') ?? '')
        onward.searchParams.set('redirect_uri', platform.config.authUrl + callback)
        return onward.href
      })
      const countBefore = evil.tokenRequests.length
      const { visitor, page } = await openProvider(evilUid)
      const end = await visitor.submitTo(page, '/organization')
      assert.equal(end.status, 401)
      assert.equal(evil.tokenRequests.length, countBefore)
    }
    evil.divert(undefined)
  })

  test('gets no response of another provider: a response is accepted only at the callback of the provider that sent it', async () => {
    const { visitor, page } = await openProvider(honestUid)
    const response = new URL(
      (await new Visitor(honest.issuer).open(await visitor.submitOnly(page, '/organization'))).url,
    )
    const countBefore = honest.tokenRequests.length
    for (const path of [
      evilUid,
      honestUid.toUpperCase(),
      `${honestUid}/`,
      `${honestUid}/${'0'.repeat(16)}`,
    ]) {
      const end = await visitor.open(`/oauth/callback/${path}${response.search}`)
      assert.equal(end.status, 401, path)
    }
    assert.equal((await visitor.open(`/oauth/callback${response.search}`)).status, 401)
    assert.equal(honest.tokenRequests.length, countBefore)
    const end = await visitor.open(`/oauth/callback/${honestUid}${response.search}`)
    assert.match(end.url, /[?&]code=/)
  })
})
