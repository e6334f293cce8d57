// Events of pushes, pulls and deletions in the registry.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { openEventBuffer } from '../../server/events/event-buffer.ts'
import { cloudEventsOf } from '../../server/outgoing-events.ts'
import type { Demand } from '../../server/policy/admit.ts'
import { systemOrigin } from '../../server/policy/origin.ts'
import { openPullLog } from '../../server/resources/registry/content/record-pull.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Caller } from '../../server/wire/caller.ts'
import { digestOf, ociClient, types } from '../registry/oci-client.ts'
import { until } from '../server/stemmad.ts'

type Body = Record<string, unknown> & { error?: { status: number; code: string } }

/** How many pulls the events stand for. */
const countOf = (pulls: readonly { body: Body }[]) =>
  pulls.reduce((sum, { body }) => sum + Number(body.count ?? 1), 0)

onEachStore('registry events', (engine) => {
  let platform: Platform
  const time = Date.now()
  before(async () => {
    platform = await startPlatform(engine, ['--public-repos', 'on'], { now: () => time })
  })
  after(() => platform.stop())

  /** The events of pushes or pulls in an organization. Pulls are recorded some time after they happen. */
  async function eventsOf(organization: string, type: 'push' | 'pull', count: number) {
    const toCloudEvent = cloudEventsOf(platform.config)
    const read = async () =>
      (await sealedEvents(platform.store, organization))
        .flatMap((row) => toCloudEvent(row) ?? [])
        .filter(({ attributes }) => attributes.type === `dev.stemma.registry.${type}.v1`)
        .map(({ attributes, data }) => ({
          attributes,
          ...(JSON.parse(data) as { actor?: object; body: Body }),
        }))
    await until(async () => (await read()).length >= count)
    return read()
  }

  const repoOf = async (organization: string, token: string) => {
    const door = restDoor(platform.url)
    const { body } = await door.call(
      ReposService.method.listRepos,
      { uidp: { descendantsOf: organization } },
      token,
    )
    return (body?.repos as { uid: string }[])[0]?.uid ?? ''
  }

  test('are in the audit log for content that was deleted by its digest', async () => {
    const { organization, identity, token } = await platform.addOrganization('deleting')
    const client = ociClient(platform.url, token)
    const manifest = await client.pushImage('deleting/web', 'latest', 'one')
    const blob = digestOf('unused')
    await client.pushBlob('deleting/web', 'unused')
    for (const path of [`manifests/${manifest}`, `blobs/${blob}`])
      await client.expect(202, 'DELETE', `/v2/deleting/web/${path}`)
    const events = await sealedEvents(platform.store, organization)
    // Sorted, because the clock of this server stands still: their order is not that of the calls.
    const deletions = events
      .filter(({ action }) => action === 'content-deleted')
      .sort((a, b) => ((a.details ?? '') < (b.details ?? '') ? 1 : -1))
    const uid = await repoOf(organization, token)
    assert.deepEqual(
      deletions.map((event) => [event.uid, event.actor, event.details]),
      [
        [uid, identity, JSON.stringify({ type: 'manifest', digest: manifest })],
        [uid, identity, JSON.stringify({ type: 'blob', digest: blob })],
      ],
    )
    assert.ok(events.some(({ kind, action }) => kind === 'tags' && action === 'deleted'))
  })

  test('describe each push with the digest that its tag had before', async () => {
    const { organization, identity, token } = await platform.addOrganization('pushing')
    const client = ociClient(platform.url, token)
    const first = await client.pushImage('pushing/web', 'latest', 'one')
    const second = await client.pushImage('pushing/web', 'latest', 'two')
    const all = await eventsOf(organization, 'push', 6)
    const pushes = all.filter(({ body }) => body.type === 'manifest')
    assert.equal(pushes.length, 2)
    // The clock of this server stands still, so their order is not that of the pushes.
    const [created, moved] = [first, second].map((digest) =>
      pushes.find(({ body }) => body.digest === digest),
    )
    const uid = await repoOf(organization, token)
    assert.deepEqual(
      [created, moved].map((event) => [event?.body.tag, event?.body.digest, event?.body.tag_previous_digest]),
      [
        ['latest', first, undefined],
        ['latest', second, first],
      ],
    )
    const { attributes, actor, body } = moved ?? assert.fail()
    assert.deepEqual(
      [attributes.subject, attributes.group, attributes.mediatype],
      [uid, organization, types.manifest],
    )
    assert.deepEqual(actor, { subject: identity })
    assert.deepEqual([body.repository, body.display_name, body.repo_id], ['pushing/web', 'web', uid])
    assert.deepEqual([body.remote_address, body.user_agent], ['127.0.0.1', 'node'])
  })

  test('describe each blob that is uploaded, at once or in parts, or mounted from another repo', async () => {
    const { organization, identity, token } = await platform.addOrganization('blobs')
    const client = ociClient(platform.url, token)
    await client.pushBlob('blobs/web', 'at once')
    const upload = await client.begin('blobs/web')
    await client.expect(201, 'PUT', `${upload}?digest=${digestOf('in parts')}`, { body: 'in parts' })
    const mount = `/v2/blobs/copy/blobs/uploads/?mount=${digestOf('at once')}&from=blobs/web`
    await client.expect(201, 'POST', mount)
    // Neither of these stores a blob.
    await client.begin('blobs/copy', `?mount=${digestOf('nowhere')}&from=blobs/web`)
    await client.expect(400, 'POST', `/v2/blobs/web/blobs/uploads/?digest=${digestOf('a')}`, { body: 'b' })
    const pushes = await eventsOf(organization, 'push', 3)
    assert.deepEqual(
      pushes.map(({ body }) => [body.type, body.repository, body.digest].join(' ')).sort(),
      [
        `blob blobs/copy ${digestOf('at once')}`,
        `blob blobs/web ${digestOf('at once')}`,
        `blob blobs/web ${digestOf('in parts')}`,
      ].sort(),
    )
    for (const { attributes, actor, body } of pushes) {
      assert.deepEqual(actor, { subject: identity })
      assert.equal(attributes.digest, undefined, 'a blob is no image that can be pulled')
      assert.deepEqual([body.tag, body.display_name], [undefined, String(body.repository).slice(6)])
    }
  })

  test('describe each pull of a manifest or blob, also of one that does not exist', async () => {
    const { organization, token } = await platform.addOrganization('pulling')
    const client = ociClient(platform.url, token)
    const digest = await client.pushImage('pulling/web', 'latest', 'layer')
    await client.expect(200, 'HEAD', '/v2/pulling/web/manifests/latest')
    await client.expect(200, 'GET', `/v2/pulling/web/manifests/${digest}`)
    await client.expect(200, 'GET', `/v2/pulling/web/blobs/${digestOf('layer')}`)
    await client.expect(404, 'GET', '/v2/pulling/web/manifests/none')
    const pulls = await eventsOf(organization, 'pull', 4)
    const facts = pulls.map(({ body: { type, method, tag, digest: pulled, error } }) =>
      [method, type, tag, pulled, error?.status, error?.code].join(' ').trim(),
    )
    assert.deepEqual(facts.sort(), [
      `GET blob  ${digestOf('layer')}`,
      `GET manifest  ${digest}`,
      'GET manifest none  404 MANIFEST_UNKNOWN',
      `HEAD manifest latest ${digest}`,
    ])
  })

  test('are not recorded for strangers who may not pull, and only some for anonymous clients', async () => {
    const { organization, token } = await platform.addOrganization('public')
    const client = ociClient(platform.url, token)
    await client.pushImage('public/web', 'latest', 'layer')
    const stranger = await platform.addOrganization('stranger')
    await ociClient(platform.url, stranger.token).expect(403, 'GET', '/v2/public/web/manifests/latest')
    const door = restDoor(platform.url)
    const repo = { uid: await repoOf(organization, token), public: true }
    assert.ok((await door.call(ReposService.method.updateRepo, { repo }, token)).body)
    const anonymous = ociClient(platform.url, '')
    for (let pull = 0; pull < 70; pull++)
      await anonymous.expect(200, 'HEAD', '/v2/public/web/manifests/latest')
    await client.expect(200, 'HEAD', '/v2/public/web/manifests/latest')
    const pulls = () => eventsOf(organization, 'pull', 1)
    await until(async () => countOf(await pulls()) >= 61)
    const [all, anonymousOnly] = [await pulls(), (await pulls()).filter(({ actor }) => !actor)]
    assert.deepEqual([countOf(all), countOf(anonymousOnly)], [61, 60])
    assert.deepEqual(await eventsOf(stranger.organization, 'pull', 0), [])
  })

  test('of equal pulls are combined into one event with a count while many are waiting', async () => {
    const { organization, identity } = await platform.addOrganization('flooded')
    const buffer = openEventBuffer({
      ...{
        store: platform.store,
        delayMs: 60_000,
        capacity: 50,
        onError: assert.fail,
        onLost: () => assert.fail(),
      },
    })
    const record = openPullLog({ ...buffer, recorded: 'all' })
    const scope = `${organization}/0123456789abcdef`
    const pull = (caller: Caller, tag: string, userAgent = 'crane') => {
      const repo = { name: 'flooded/web', action: 'pull', method: 'GET' }
      const envelope = { door: 'oci', requestId: 'r', address: '127.0.0.1', userAgent, repo }
      const origin = { method: 'GetManifest', envelope }
      const demand = { caller, scope, origin, now: () => time, random: randomBytes } as unknown as Demand // only these are read
      record(demand, { type: 'manifest', reference: tag, digest: digestOf(tag) })
    }
    const caller = { identity, issuedAt: 1 }
    for (let each = 0; each < 1000; each++) pull(caller, 'latest')
    for (let each = 0; each < 100; each++) pull(caller, 'other')
    for (let each = 0; each < 10; each++) pull({ ...caller }, 'latest')
    for (let each = 0; each < 10; each++) pull(caller, 'latest', 'skopeo')
    const otherCaller = { ...caller }
    for (let each = 0; each < 20; each++) for (const one of [caller, otherCaller]) pull(one, 'taken in turns')
    await buffer.stop()
    const pulls = await eventsOf(organization, 'pull', 1)
    assert.equal(countOf(pulls), 1160)
    assert.deepEqual(
      pulls
        .flatMap(({ body }) =>
          body.count === undefined ? [] : [`${body.tag} ${body.user_agent} ${body.count}`],
        )
        .sort(),
      [
        ...['latest crane 968', 'latest skopeo 10', 'other crane 100'],
        ...['taken in turns crane 20', 'taken in turns crane 20'],
      ],
    )
    // The first 32 pulls are separate, as few events wait. So are the ten pulls of other callers:
    // two tokens of one identity are two callers, because they may come from different people.
    assert.equal(pulls.filter(({ body }) => body.count === undefined).length, 32 + 10)
  })

  test('that do not fit into the buffer are counted, and delay nothing', async () => {
    const { organization } = await platform.addOrganization('full')
    let lost = 0
    const buffer = openEventBuffer({
      ...{ store: platform.store, capacity: 3, onError: assert.fail },
      onLost: (count) => {
        lost += count
      },
    })
    const origin = systemOrigin('server', 'test')
    for (let event = 0; event < 5; event++)
      buffer.add(() => ({ origin, group: organization, kind: 'repos', uid: organization, action: 'pulled' }))
    await buffer.stop()
    assert.equal(lost, 2)
    const recorded = await sealedEvents(platform.store, organization)
    assert.equal(recorded.filter(({ action }) => action === 'pulled').length, 3)
  })
})
