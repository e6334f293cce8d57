// Limits on the bytes of content in repos.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { collectionAccess } from '../../server/policy/system-access.ts'
import { contentAmount, countContent } from '../../server/resources/registry/content-usage.ts'
import { releaseReserved } from '../../server/resources/registry/release-reserved.ts'
import { checkTally } from '../../server/store/check.ts'
import { replaceQuotas } from '../../server/store/quota.ts'
import { sql } from '../../server/store/sql.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, imageOf, ociClient, types } from './oci-client.ts'

const mebibyte = 2 ** 20
let contentCount = 0
/** Content that no other test has. */
const newContent = (bytes: number) => `${++contentCount}:`.padEnd(bytes, 'x')

onEachStore('limits on content', (engine) => {
  let platform: Platform
  let owner: TestIdentity
  let client: OciClient
  let name: string
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())
  beforeEach(async () => {
    name = `quota${++contentCount}`
    owner = await platform.addOrganization(name)
    client = ociClient(platform.url, owner.token)
    await setLimit(3)
  })

  const setLimit = (mebibytes: number) =>
    platform.store.write(() =>
      replaceQuotas(owner.organization, new Map([['registry_mebibytes', mebibytes]])),
    )
  const call = (...[method, request]: Parameters<ReturnType<typeof restDoor>['call']>) =>
    restDoor(platform.url).call(method, request, owner.token)
  const usage = async () => {
    const { body } = await call(GroupsService.method.getGroupUsage, { uid: owner.organization })
    const kinds = body?.kinds as { kind: string; used: string; available: string }[]
    return kinds.find(({ kind }) => kind === 'registry_mebibytes')
  }
  /** The exact number of bytes that count. */
  async function counted(): Promise<number> {
    assert.deepEqual(await checkTally(platform.store, [], false, [contentAmount]), [])
    const rows = await platform.store.query(sql`select coalesce(sum(subtree), 0) from tally
      where kind = 'registry_mebibytes' and place = ${owner.organization}`)
    return Number(rows[0]?.[0])
  }
  const streamed = (content: string) =>
    ({ body: new Blob([content]).stream(), duplex: 'half' }) as RequestInit
  const post = (repo: string, content: string) =>
    client.send('POST', `/v2/${name}/${repo}/blobs/uploads/?digest=${digestOf(content)}`, { body: content })
  const uploadCount = async () =>
    (await platform.store.query(sql`select 1 from uploads where repo like ${`${owner.organization}/%`}`))
      .length

  test('refuse a push that would exceed them, and say which group may have how much', async () => {
    await client.pushBlob(`${name}/web`, newContent(2 * mebibyte))
    const response = await post('web', newContent(2 * mebibyte))
    assert.equal(response.status, 403)
    const { errors } = (await response.json()) as { errors: { code: string; message: string }[] }
    assert.equal(errors[0]?.code, 'DENIED')
    assert.match(
      errors[0]?.message ?? '',
      /^group [0-9a-f]{40} may contain at most 3 MiB of content in repos and contains 2; .* have the limit raised/,
    )
    assert.deepEqual(await usage(), {
      ...{ kind: 'registry_mebibytes', used: '2', limit: 3, available: '1' },
      ...{ limitGroupUid: owner.organization, limitUsed: '2', defaultLimit: false },
    })
    assert.equal(await counted(), 2 * mebibyte)
    await client.pushBlob(`${name}/web`, newContent(mebibyte))
    assert.equal(await client.errorOf('POST', `/v2/${name}/web/blobs/uploads/`), '403 DENIED')
  })

  test('end an upload of unknown length when they are reached, and its bytes do not count any more', async () => {
    const location = await client.begin(`${name}/web`)
    await client.expect(202, 'PATCH', location, streamed(newContent(mebibyte)))
    assert.equal(await counted(), mebibyte)
    assert.equal(await client.errorOf('PATCH', location, streamed(newContent(4 * mebibyte))), '403 DENIED')
    assert.equal(await client.errorOf('GET', location), '404 BLOB_UPLOAD_UNKNOWN')
    assert.equal(await counted(), 0)
    const next = await client.begin(`${name}/web`)
    const content = newContent(3 * mebibyte)
    await client.expect(202, 'PATCH', next, streamed(content))
    await client.expect(201, 'PUT', `${next}?digest=${digestOf(content)}`)
    assert.equal(await counted(), 3 * mebibyte)
  })

  test('cannot be exceeded by mounts, and a blob counts in each repo', async () => {
    const content = newContent(1.5 * mebibyte)
    await client.pushBlob(`${name}/a`, content)
    const mount = (repo: string) =>
      `/v2/${name}/${repo}/blobs/uploads/?mount=${digestOf(content)}&from=${name}/a`
    await client.expect(201, 'POST', mount('b'))
    assert.equal(await counted(), 3 * mebibyte)
    assert.equal(await client.errorOf('POST', mount('c')), '403 DENIED')
    // The repo has it already.
    await client.expect(201, 'POST', mount('b'))
    await client.expect(202, 'DELETE', `/v2/${name}/b/blobs/${digestOf(content)}`)
    await client.expect(201, 'POST', mount('c'))
  })

  test('count manifests, and count a manifest or blob once, even if it is pushed again', async () => {
    const layer = newContent(mebibyte)
    for (let push = 0; push < 3; push++) await client.pushImage(`${name}/web`, 'latest', layer)
    const size = mebibyte + 2 + imageOf(layer).length
    assert.equal(await counted(), size)
    await setLimit(1)
    const annotated = imageOf(layer, { annotations: { a: 'b' } })
    const init = {
      body: annotated,
      headers: { 'content-type': 'application/vnd.oci.image.manifest.v1+json' },
    }
    assert.equal(await client.errorOf('PUT', `/v2/${name}/web/manifests/next`, init), '403 DENIED')
    await client.pushManifest(`${name}/web`, 'other', imageOf(layer))
    await client.expect(202, 'DELETE', `/v2/${name}/web/manifests/${digestOf(imageOf(layer))}`)
    assert.equal(await counted(), mebibyte + 2)
  })

  test('are not exceeded by pushes at the same time, in whichever way they send their content', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const content = newContent(mebibyte / 2)
        if (index % 2 === 0) return (await post(`r${index % 3}`, content)).status
        const begun = await client.send('POST', `/v2/${name}/r${index % 3}/blobs/uploads/`)
        if (begun.status !== 202) return begun.status
        const location = begun.headers.get('location') ?? ''
        const { status } = await client.send('PATCH', location, streamed(content))
        if (status !== 202) return status
        return (await client.send('PUT', `${location}?digest=${digestOf(content)}`)).status
      }),
    )
    const stored = statuses.filter((status) => status === 201).length
    assert.equal(await counted(), (stored * mebibyte) / 2)
    assert.ok(
      stored > 0 && stored <= 6 && statuses.every((status) => [201, 403].includes(status)),
      String(statuses),
    )
    assert.equal(await uploadCount(), 0)
  })

  test('count unfinished uploads until they are cancelled or their repo is deleted', async () => {
    const locations = [await client.begin(`${name}/web`), await client.begin(`${name}/web`)]
    for (const location of locations)
      await client.expect(202, 'PATCH', location, { body: newContent(1.5 * mebibyte) })
    assert.equal(await counted(), 3 * mebibyte)
    assert.equal((await post('web', newContent(1))).status, 403)
    await client.expect(204, 'DELETE', locations[0] ?? '')
    assert.equal(await counted(), 1.5 * mebibyte)
    await client.pushBlob(`${name}/web`, newContent(1000))
    const [row] = await platform.store.query(sql`select uid from repos where parent = ${owner.organization}`)
    const uid = row?.[0] as string
    await call(ReposService.method.deleteRepo, { uid })
    assert.equal(await counted(), 0)
  })

  test('stop counting what was reserved for an upload whose server was killed, when its lease has expired', async () => {
    const layer = newContent(1000)
    await client.pushImage(`${name}/web`, 'latest', layer)
    const manifest = (label: string) => imageOf(layer, { annotations: { label: label.padEnd(1000) } })
    const headers = { 'content-type': types.manifest }
    // Each request releases the expired reservation itself, except in `collection`, where the
    // garbage collection has released it before.
    const ways: Record<string, () => Promise<Response>> = {
      push: () => post('web', newContent(mebibyte)),
      collection: () => post('web', newContent(1000)),
      mount: () =>
        client.send('POST', `/v2/${name}/other/blobs/uploads/?mount=${digestOf(layer)}&from=${name}/web`),
      manifest: () => client.send('PUT', `/v2/${name}/web/manifests/next`, { body: manifest('a'), headers }),
    }
    for (const [way, send] of Object.entries(ways)) {
      const location = await client.begin(`${name}/web`)
      const id = location.split('/').at(-1) ?? ''
      // As a killed process leaves it: everything is reserved, and nothing has arrived.
      const [row] = await platform.store.query(sql`select repo from uploads where id = ${id}`)
      const free = 3 * mebibyte - (await counted())
      const reserve = (until: number) =>
        platform.store.write(function* () {
          yield sql`update uploads set lease = 'x', lease_until = ${until}, reserved = ${free},
            digest = ${digestOf(layer)} where id = ${id}`
        })
      await reserve(Date.now() + 60_000)
      await platform.store.write(() => countContent(collectionAccess, row?.[0] as string, free))
      assert.equal((await send()).status, 403, way)
      await reserve(Date.now() - 1)
      if (way === 'collection')
        await platform.store.write(() => releaseReserved(collectionAccess, Date.now(), sql`1 = 1`))
      assert.equal((await send()).status, 201, way)
      const digests = await platform.store.query(sql`select digest from uploads where id = ${id}`)
      assert.deepEqual(digests, [[null]], 'without a digest, cancelling the upload keeps the row of the blob')
      await client.expect(204, 'DELETE', location)
    }
    await counted()
  })

  test('stop counting what a killed server reserved for many uploads, batch by batch until there is room', async () => {
    const id = (await client.begin(`${name}/web`)).split('/').at(-1) ?? ''
    const [row] = await platform.store.query(sql`select repo from uploads where id = ${id}`)
    const repo = row?.[0] as string
    const ids = Array.from({ length: 250 }, (_, index) => `upload-${String(index).padStart(3, '0')}`)
    // Only the last one has reserved much, and uploads are released in the order of their ids.
    const free = 3 * mebibyte - (await counted()) - (ids.length - 1)
    await platform.store.write(function* () {
      for (const each of ids)
        yield sql`insert into uploads (id, repo, identity, size, state, create_time, update_time, lease, lease_until,
          reserved) select ${each}, repo, identity, size, state, create_time, update_time, 'x', 1,
          cast(${each === ids.at(-1) ? free : 1} as bigint) from uploads where id = ${id}`
      yield* countContent(collectionAccess, repo, free + ids.length - 1)
    })
    assert.equal((await post('web', newContent(mebibyte))).status, 201)
    await platform.store.write(function* () {
      yield sql`delete from uploads`
    })
    await counted()
  })

  test('refuse a body whose declared length exceeds them, and otherwise reserve at most 64 MiB of it at a time', async () => {
    await setLimit(100)
    const announce = async (mebibytes: number) => {
      const location = await client.begin(`${name}/web`)
      const { request } = await import('node:http')
      const outgoing = request(new URL(location, platform.url), {
        method: 'PATCH',
        headers: { authorization: `Bearer ${owner.token}`, 'content-length': mebibytes * mebibyte },
      })
      outgoing.on('error', () => {}).flushHeaders()
      return outgoing
    }
    const refused = await announce(101)
    const [response] = (await once(refused, 'response')) as [{ statusCode: number }]
    assert.equal(response.statusCode, 403)
    refused.destroy()
    const accepted = await announce(99)
    while ((await counted()) === 0) await nextTurn()
    assert.equal(await counted(), 64 * mebibyte)
    accepted.destroy()
    while ((await counted()) > 0) await nextTurn()
  })

  test('reserve the declared length while the body arrives', async () => {
    const location = await client.begin(`${name}/web`)
    const content = newContent(2 * mebibyte)
    let send: (() => void) | undefined
    const waiting = new Promise<void>((resolve) => {
      send = resolve
    })
    // fetch sends a body of known length at once, so the request is written by hand.
    const { request } = await import('node:http')
    const sent = new Promise<number>((resolve, reject) => {
      const outgoing = request(new URL(location, platform.url), {
        method: 'PATCH',
        headers: { authorization: `Bearer ${owner.token}`, 'content-length': content.length },
      })
      outgoing.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject)
      outgoing.flushHeaders()
      waiting.then(() => outgoing.end(content))
    })
    while ((await counted()) === 0) await nextTurn()
    assert.equal(await counted(), 2 * mebibyte)
    assert.equal((await post('web', newContent(2 * mebibyte))).status, 403)
    send?.()
    assert.equal(await sent, 202)
  })
})
