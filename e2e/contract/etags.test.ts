// Entity tags over both doors (RFC 9110): a caller who has not seen the last change cannot overwrite it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { fromJson, toBinary } from '@bufbuild/protobuf'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { signInAccess } from '../../server/policy/system-access.ts'
import { writeLastSeen } from '../../server/resources/iam/identities/last-seen.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const { getIdentity, updateIdentity, deleteIdentity } = IdentitiesService.method

type TaggedReply = { code: number; http?: number; etag: string | undefined; body: JsonObject }

onEachStore('entity tags', (engine) => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform(engine)
    client = new Client(new URL(platform.url).host, credentials.createInsecure())
  })
  after(async () => {
    client.close()
    await platform.stop()
  })

  async function rest(verb: string, path: string, body?: JsonObject, ifMatch?: string): Promise<TaggedReply> {
    const headers: Record<string, string> = {
      authorization: `Bearer ${platform.owner.token}`,
      'content-type': 'application/json',
    }
    if (ifMatch !== undefined) headers['if-match'] = ifMatch
    const payload = body ? { body: JSON.stringify(body) } : {}
    const separator = path.startsWith('?') ? '' : '/'
    const answer = await fetch(`${platform.url}/iam/v2beta1/identities${separator}${path}`, {
      method: verb,
      headers,
      ...payload,
    })
    const text = await answer.text()
    const json = text === '' ? {} : JSON.parse(text)
    const code = answer.ok ? 0 : json.code
    return { code, http: answer.status, etag: answer.headers.get('etag') ?? undefined, body: json }
  }

  function grpc(method: DescMethod, request: JsonObject, ifMatch?: string): Promise<TaggedReply> {
    const metadata = new Metadata()
    metadata.set('authorization', `Bearer ${platform.owner.token}`)
    if (ifMatch !== undefined) metadata.set('if-match', ifMatch)
    const bytes = Buffer.from(toBinary(method.input, fromJson(method.input, request)))
    const asIs = (value: Buffer) => value
    return new Promise((resolve) => {
      const path = `/${method.parent.typeName}/${method.name}`
      let code = 0
      const call = client.makeUnaryRequest(path, asIs, asIs, bytes, metadata, (error) => {
        code = error?.code ?? 0
      })
      call.on('status', (status) => {
        resolve({ code, etag: status.metadata.get('etag')[0]?.toString(), body: {} })
      })
    })
  }

  const claimMatch = { issuer: 'https://issuer.test', subject: 'robot' }
  const create = async () => {
    const made = await rest('POST', platform.owner.organization, { name: 'robot', claimMatch })
    return { uid: made.body.uid as string, etag: made.etag ?? '' }
  }

  test('a resource has the same entity tag through both doors', async () => {
    const { uid, etag } = await create()
    assert.match(etag, /^"[0-9a-z]+"$/)
    assert.equal((await rest('GET', uid)).etag, etag)
    assert.equal((await grpc(getIdentity, { uid })).etag, etag)
    const list = await rest('GET', '?pageSize=1')
    assert.deepEqual([list.code, list.etag], [0, undefined], 'a list has no tag')
  })

  test('every change makes a new tag, and an update without a change does not', async () => {
    const { uid, etag } = await create()
    const tags = new Set([etag])
    for (const description of ['a', 'b', 'a', 'c']) {
      const changed = await rest('PATCH', uid, { description })
      assert.ok(changed.etag && !tags.has(changed.etag))
      tags.add(changed.etag)
    }
    const before = (await rest('GET', uid)).etag
    assert.equal((await rest('PATCH', uid, { description: 'c' })).etag, before)
    await platform.store.write(() => writeLastSeen(signInAccess(new Map()), uid, Date.now() + 120_000))
    const seen = await rest('GET', uid)
    assert.equal(seen.etag, before)
    assert.ok((seen.body.lastSeenTime as string) > (seen.body.updateTime as string))
  })

  test('a change with an outdated tag is refused', async () => {
    const { uid, etag } = await create()
    assert.equal((await rest('PATCH', uid, { description: 'first' }, etag)).code, 0)
    const late = await rest('PATCH', uid, { description: 'second' }, etag)
    assert.deepEqual([late.code, late.http], [10, 412])
    const update = { identity: { uid, description: 'second' } }
    assert.equal((await grpc(updateIdentity, update, etag)).code, 10)
    assert.equal((await rest('DELETE', uid, undefined, etag)).http, 412)
    assert.equal((await grpc(deleteIdentity, { uid }, etag)).code, 10)
    assert.equal((await rest('GET', uid)).body.description, 'first')
  })

  test('one of several tags must match; weak tags never match and * always does', async () => {
    const { uid, etag } = await create()
    assert.equal((await rest('PATCH', uid, { description: 'a' }, `W/${etag}`)).http, 412)
    assert.equal((await rest('PATCH', uid, { description: 'a' }, `"x", ${etag}`)).code, 0)
    assert.equal((await rest('PATCH', uid, { description: 'b' }, '*')).code, 0)
    const { etag: last = '' } = await rest('GET', uid)
    assert.equal((await grpc(deleteIdentity, { uid }, last)).code, 0)
    assert.equal((await rest('GET', uid)).code, 5)
  })

  test('of several concurrent changes with the same tag, only one succeeds', async () => {
    const { uid, etag } = await create()
    const changes = ['a', 'b', 'c', 'd'].map((description) => rest('PATCH', uid, { description }, etag))
    const codes = (await Promise.all(changes)).map(({ code }) => code).sort((a, b) => a - b)
    assert.deepEqual(codes, [0, 10, 10, 10])
  })

  test('concurrent changes of different fields all succeed', async () => {
    for (let round = 0; round < 5; round++) {
      const { uid } = await create()
      const match = (part: JsonObject) => ({ claimMatch: part })
      await Promise.all([
        rest('PATCH', uid, { description: 'changed' }),
        rest('PATCH', uid, match({ subject: 'other' })),
        grpc(updateIdentity, { identity: { uid, name: 'renamed' }, updateMask: 'name' }),
        rest('PATCH', uid, match({ audience: 'sts' })),
      ])
      const { name, description, claimMatch: merged } = (await rest('GET', uid)).body
      assert.deepEqual([name, description], ['renamed', 'changed'])
      assert.deepEqual(merged, { issuer: claimMatch.issuer, subject: 'other', audience: 'sts' })
    }
  })
})
