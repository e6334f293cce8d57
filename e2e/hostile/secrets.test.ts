// Secrets that callers send, or receive once, appear in no later response, error, log line or metric, and nowhere in
// the store.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { fromBinary, fromJson, toBinary } from '@bufbuild/protobuf'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import {
  GroupInviteSchema,
  GroupInvitesService,
} from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { openSink } from '../events/sink.ts'
import { captureLog } from '../server/captured-log.ts'
import { formsOf, storedTexts } from './stored-texts.ts'

const { createIdentityProvider, updateIdentityProvider, getIdentityProvider, listIdentityProviders } =
  IdentityProvidersService.method
const { createGroupInvite, getGroupInvite, listGroupInvites, updateGroupInvite } = GroupInvitesService.method

const secret = 'correct-horse-battery-staple'
const roleUid = builtInRole('viewer').uid

onEachStore('nothing reveals', (engine) => {
  let platform: Platform
  let client: Client
  /**
   * `seen` collects the log and every response; `assertUnseen` adds the metrics, the exported audit
   * log and the rows of the store.
   */
  const { log, written: seen } = captureLog('trace')
  before(async () => {
    const overrides = { deliversInBackground: false }
    platform = await startPlatform(engine, ['--base-url', 'http://localhost:8080'], overrides, log)
    client = new Client(new URL(platform.url).host, credentials.createInsecure())
  })
  after(async () => {
    client.close()
    await platform.stop()
  })

  async function overRest(verb: string, path: string, body?: unknown): Promise<JsonObject> {
    const headers = { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' }
    const init = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const answer = await fetch(`${platform.url}/iam/v2beta1/${path}`, { method: verb, headers, ...init })
    const text = await answer.text()
    seen.push(text, JSON.stringify([...answer.headers]))
    return text === '' ? {} : JSON.parse(text)
  }

  /** Returns the response as raw bytes, since decoding would drop unknown fields. */
  function overGrpc(method: DescMethod, request: JsonObject): Promise<Buffer> {
    const metadata = new Metadata()
    metadata.set('authorization', `Bearer ${platform.owner.token}`)
    const bytes = Buffer.from(toBinary(method.input, fromJson(method.input, request)))
    const asIs = (value: Buffer) => value
    return new Promise((resolve) => {
      const path = `/${method.parent.typeName}/${method.name}`
      client.makeUnaryRequest(path, asIs, asIs, bytes, metadata, (error, reply = Buffer.alloc(0)) => {
        const errorText = error ? `${error.details} ${JSON.stringify(error.metadata.getMap())}` : ''
        seen.push(errorText, reply.toString('latin1'))
        resolve(reply)
      })
    })
  }

  async function textAt(path: string): Promise<string> {
    const headers = { authorization: `Bearer ${platform.owner.token}` }
    const answer = await fetch(`${platform.url}/${path}`, { headers })
    assert.equal(answer.status, 200, path)
    return answer.text()
  }

  async function assertUnseen(...hidden: (string | Buffer)[]): Promise<void> {
    seen.push(await (await fetch(`${platform.url}/metrics`)).text())
    for (const format of ['AUDIT_FORMAT_UNSPECIFIED', 'AUDIT_FORMAT_ECS'])
      seen.push(await textAt(`audit/v2beta1/entries:export?format=${format}`))
    const stored = await storedTexts(platform.store)
    assert.ok(stored.get('events')?.includes('created'), 'the audit log was not read')
    seen.push(...[...stored.values()].flat())
    assert.ok(seen.length > 50, 'the responses and the log were not recorded')
    for (const form of hidden.flatMap(formsOf))
      assert.equal(
        seen.find((text) => text.includes(form)),
        undefined,
      )
  }

  test('the client secret of a provider', async () => {
    const parent = platform.owner.organization
    const oidc = { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: secret }
    const identityProvider = { name: 'sso', defaultRole: roleUid, oidc }
    const { uid } = (await overRest('POST', `identityProviders/${parent}`, identityProvider)) as {
      uid: string
    }
    assert.ok(uid)
    await overGrpc(createIdentityProvider, { parent, identityProvider })
    await overRest('PATCH', `identityProviders/${uid}`, { oidc: { clientSecret: secret } })
    await overGrpc(updateIdentityProvider, { identityProvider: { uid, oidc: { clientSecret: secret } } })
    // Errors about the secret do not contain it.
    const invalidBodies: unknown[] = [
      { ...identityProvider, oidc: { ...oidc, clientSecret: [secret] } },
      { ...identityProvider, oidc: { ...oidc, clientSecret: { value: secret } } },
      { ...identityProvider, oidc: { ...oidc, clientSecret: secret.repeat(1000) } },
      { ...identityProvider, oidc: { ...oidc, clientSecret: `${secret}\u0000` } },
      { ...identityProvider, oidc: { ...oidc, issuer: 'nowhere' } },
      { ...identityProvider, name: 'NOT A NAME', oidc },
      JSON.stringify({ ...identityProvider, oidc }).slice(0, -1),
    ]
    for (const body of invalidBodies) {
      const { code } = await overRest('POST', `identityProviders/${parent}`, body)
      assert.equal(code, 3)
    }
    const long = { ...oidc, clientSecret: secret.repeat(1000) }
    await overGrpc(createIdentityProvider, { parent, identityProvider: { ...identityProvider, oidc: long } })
    await overRest('GET', `identityProviders/${uid}`)
    await overRest('GET', 'identityProviders')
    await overGrpc(getIdentityProvider, { uid })
    await overGrpc(listIdentityProviders, {})
    await overRest('GET', `identityProviders/${uid}?clientSecret=no`)
    const sealed = await platform.store.query(sql`select client_secret from identity_providers`)
    assert.ok(sealed.every(([text]) => String(text).length > 20))
    await assertUnseen(secret)
    // The sealed form is not returned either.
    const answers = [
      await overGrpc(listIdentityProviders, {}),
      JSON.stringify(await overRest('GET', 'identityProviders')),
    ]
    for (const [text] of sealed) for (const answer of answers) assert.ok(!answer.includes(String(text)))
  })

  test('the code of an invite, after it was returned once', async () => {
    const parent = platform.owner.organization
    const groupInvite = { roleUid, ttl: '3600s' }
    const made = (await overRest('POST', `groupInvites/${parent}`, groupInvite)) as {
      uid: string
      code: string
    }
    const reply = await overGrpc(createGroupInvite, { parent, groupInvite })
    const { code = '' } = fromBinary(GroupInviteSchema, reply)
    assert.ok(made.code !== '' && code !== '' && made.code !== code)
    // Only the two create responses may contain a code, so they are removed from `seen`.
    const withCode = seen.filter((text) => text.includes(made.code) || text.includes(code))
    assert.equal(withCode.length, 2)
    for (const text of withCode) seen.splice(seen.indexOf(text), 1, '')
    const { uid } = made
    await overRest('GET', `groupInvites/${uid}`)
    await overRest('GET', 'groupInvites')
    await overRest('PATCH', `groupInvites/${uid}`, { email: 'guest@example.com', code: made.code })
    await overRest('PATCH', `groupInvites/${uid}`, { ttl: 'soon' })
    await overGrpc(getGroupInvite, { uid })
    await overGrpc(listGroupInvites, {})
    await overGrpc(updateGroupInvite, { groupInvite: { uid, singleUse: true } })
    // The link of an invite contains the bytes of its code as base64url.
    const bytes = [made.code, code].map((text) => Buffer.from(text, 'base64'))
    const secrets = bytes.map((json) => JSON.parse(json.toString()).sec as string)
    await assertUnseen(made.code, code, ...bytes, ...secrets)
  })

  test('the secrets of subscriptions, SCIM tokens and pull tokens, after they were returned once', async () => {
    const { organization, token } = platform.owner
    const uids: string[] = []
    /** Returns a field of the response, which is not collected in `seen`. */
    async function secretOf(path: string, body: unknown, field: string): Promise<string> {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      const answer = (await (await fetch(`${platform.url}/${path}`, init)).json()) as Record<string, string>
      uids.push(answer.uid ?? '')
      assert.ok((answer[field] ?? '').length > 20, `${path}: ${JSON.stringify(answer)}`)
      return answer[field] ?? ''
    }
    const sink = await openSink()
    try {
      const subscription = { sink: sink.url }
      const secret = await secretOf(`events/v2beta1/subscriptions/${organization}`, subscription, 'secret')
      const uid = uids.at(-1)
      const rotated = await secretOf(`events/v2beta1/subscriptions/${uid}:rotateSecret`, {}, 'secret')
      const oidc = { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'another-long-secret' }
      const provider = { name: 'scim', defaultRole: roleUid, oidc }
      const { uid: idp } = await overRest('POST', `identityProviders/${organization}`, provider)
      const scim = await secretOf(`iam/v2beta1/identityProviders/${idp}:generateScimToken`, {}, 'token')
      const pull = await secretOf(
        `registry/v2beta1/pullTokens/${organization}`,
        { name: 'p', ttl: '86400s' },
        'password',
      )
      await platform.app.deliverEvents()
      assert.ok(sink.events.length > 0, 'nothing was delivered')
      const sent = sink.events.map(({ headers }) => headers.authorization?.split(' ')[1] ?? '')
      seen.push(...sink.events.map(({ body }) => body))
      seen.push(await textAt(`events/v2beta1/deliveries?subscription=${uid}`))
      seen.push(await textAt(`events/v2beta1/subscriptions/${uid}`))
      const stored = await storedTexts(platform.store)
      assert.ok((stored.get('deliveries') ?? []).length > 0)
      const keys = [secret, rotated].map((text) => Buffer.from(text.replace('whsec_', ''), 'base64'))
      await assertUnseen(...keys, scim, pull, ...sent)
    } finally {
      sink.close()
    }
  })
})
