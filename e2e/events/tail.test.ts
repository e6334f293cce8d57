// Streams of events: what they contain, how they are continued, and when they end.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { EventsService } from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { decodeJwt } from 'jose'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { sealAll } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'
import { captureLog } from '../server/captured-log.ts'
import { followOverGrpc, followOverRest } from './follow.ts'

const { tailEvents } = EventsService.method
const { createGroup, updateGroup } = GroupsService.method

/** The responses of a stream without `follow`. The doors are not compared, because the ids of events differ. */
async function tail({ door, platform, owner }: ExampleContext, request: JsonObject) {
  await sealAll(platform.store)
  const { body } = await door.call(tailEvents, request, owner.token)
  return body?.documents as { event?: JsonObject; sequence: string }[]
}

const typesOf = (responses: readonly { event?: JsonObject }[]) =>
  responses.map(({ event }) => String(event?.type).replace('dev.stemma.api.iam.', ''))

examples('a stream of events', {
  async 'contains the events of a group and of everything below it, and of nothing else'(context) {
    const { owner, platform } = context
    const group = await make(context, createGroup, { parent: owner.organization, group: { name: 'team' } })
    await make(context, createGroup, { parent: group, group: { name: 'child' } })
    await make(context, createGroup, { parent: owner.organization, group: { name: 'sibling' } })
    const stranger = await platform.addOrganization('other')
    const responses = await tail(context, { group, afterSequence: '0' })
    assert.deepEqual(typesOf(responses), ['group.created.v1', 'group.created.v1', 'undefined'])
    const [created] = responses
    assert.equal(created?.event?.specversion, '1.0')
    assert.equal(created?.event?.subject, group)
    assert.equal(created?.event?.sequence, created?.sequence)
    assert.equal((created?.event?.data as { actor: { subject: string } }).actor.subject, owner.identity)
    const whole = await tail(context, { group: owner.organization, afterSequence: '0' })
    assert.ok(whole.every(({ event }) => !event || !JSON.stringify(event).includes(stranger.organization)))
  },

  async 'is continued after a sequence number without a gap'(context) {
    const { owner } = context
    const group = owner.organization
    for (const name of ['a', 'b', 'c']) await make(context, createGroup, { parent: group, group: { name } })
    const all = await tail(context, { group, afterSequence: '0' })
    const [, second] = all
    assert.ok(second)
    assert.deepEqual(await tail(context, { group, afterSequence: second.sequence }), all.slice(2))
    const end = all.at(-1)
    assert.deepEqual(await tail(context, { group, afterSequence: end?.sequence ?? '' }), [end])
    assert.deepEqual(await tail(context, { group }), [end], 'without a number, it starts at the end')
  },

  async 'names the claims with which the caller assumed the identity'(context) {
    const { owner, platform, door } = context
    const { keys, config } = platform
    const token = await mintToken(
      { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes },
      {
        ...{ identity: owner.identity, audience: config.baseUrl },
        act: { iss: 'https://ci.example.com', sub: 'repo:acme/web', aud: 'x'.repeat(600) },
      },
    )
    const group = owner.organization
    assert.ok((await door.call(updateGroup, { group: { uid: group, name: 'renamed' } }, token)).body)
    const { event } = (await tail(context, { group, afterSequence: '0' })).at(-2) ?? {}
    const { actor } = (event as { data: { actor?: object } } | undefined)?.data ?? {}
    assert.deepEqual(actor, {
      subject: owner.identity,
      act: { iss: 'https://ci.example.com', sub: 'repo:acme/web', aud: 'x'.repeat(512) },
    })
  },

  async 'is refused to callers who may not create subscriptions in the group'(context) {
    const { owner, platform, fail } = context
    const viewer = await platform.addIdentity(owner.organization, 'viewer')
    const stranger = await platform.addOrganization('other')
    for (const { token } of [viewer, stranger]) {
      assert.equal((await fail(tailEvents, { group: owner.organization }, token)).code, 7)
      assert.equal(
        (await fail(tailEvents, { group: `${owner.organization}/0000000000000000` }, token)).code,
        7,
      )
    }
    assert.equal((await fail(tailEvents, { group: `${owner.organization}/0000000000000000` })).code, 5)
  },

  async 'is refused for a sequence number that is negative or after the last event'(context) {
    const { owner, platform, fail } = context
    await sealAll(platform.store)
    for (const afterSequence of ['-1', '1000000']) {
      const error = await fail(tailEvents, { group: owner.organization, afterSequence })
      assert.equal(error.code, 3)
      assert.deepEqual(violations(error), ['afterSequence'])
    }
  },
})

/** How many streams of a caller may run at a time. */
const maxStreams = 10

type Followed = { type: string; sequence: string; data: { body: { name: string } } }

onEachStore('a stream that follows', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine, [], { tailHeartbeatMs: 50 })
  })
  after(() => platform.stop())

  for (const follow of [followOverRest, followOverGrpc]) {
    const start = (group: string, token: string, query: JsonObject = {}) =>
      follow(platform.url, { group, follow: true, ...query }, token)

    /** Skips responses without an event. */
    async function nextEvent({ next }: ReturnType<typeof start>): Promise<Followed> {
      for (;;) {
        const response = await next()
        assert.ok(response, 'the stream has ended')
        if (response.event) return response.event as Followed
      }
    }

    test(`gets new events with ${follow.name}, and continues after a disconnect`, async () => {
      const { organization: group, token } = await platform.addOrganization('acme')
      await sealAll(platform.store)
      const door = restDoor(platform.url)
      const first = start(group, token)
      assert.ok((await first.next())?.sequence, 'the first response states the number to continue after')
      const rename = (name: string) => door.call(updateGroup, { group: { uid: group, name } }, token)
      await rename('one')
      const { sequence, type } = await nextEvent(first)
      assert.equal(type, 'dev.stemma.api.iam.group.updated.v1')
      first.disconnect()
      await rename('two')
      const second = start(group, token, { afterSequence: sequence })
      await rename('three')
      const names = [await nextEvent(second), await nextEvent(second)].map(({ data }) => data.body.name)
      assert.deepEqual(names, ['two', 'three'])
      second.disconnect()
      door.close()
    })

    test(`gets events that another process has sealed, with ${follow.name}`, async () => {
      const { organization: group, token } = await platform.addOrganization('acme')
      await sealAll(platform.store)
      const stream = start(group, token)
      await stream.next()
      // These are written through the store of the test, not through the server.
      await platform.addIdentity(group, 'viewer')
      await sealAll(platform.store)
      assert.equal((await nextEvent(stream)).type, 'dev.stemma.api.iam.identity.created.v1')
      stream.disconnect()
    })

    test(`states its sequence number again and again without events, with ${follow.name}`, async () => {
      const { organization: group, token } = await platform.addOrganization('acme')
      await sealAll(platform.store)
      const stream = start(group, token)
      const first = await stream.next()
      assert.deepEqual([await stream.next(), await stream.next()], [first, first])
      stream.disconnect()
    })

    test(`ends with an error when the caller loses access, with ${follow.name}`, async () => {
      const { organization: group } = await platform.addOrganization('acme')
      const editor = await platform.addIdentity(group, 'editor')
      const stream = start(group, editor.token)
      await stream.next()
      await platform.unbind(editor.identity)
      assert.equal(await stream.ended, follow === followOverRest ? 'reset' : '7')
    })

    test(`ends without an error when the token expires, with ${follow.name}`, async () => {
      let time = Date.now()
      const other = await startPlatform(engine, [], { now: () => time })
      const { organization: group, token } = other.owner
      const { exp = 0 } = decodeJwt(token)
      // The clock of the server stands still, so that the token is valid whenever the stream begins.
      time = exp * 1000 - 1500
      const stream = follow(other.url, { group, follow: true }, token)
      await stream.next()
      assert.equal(await stream.ended, 'complete')
      await other.stop()
    })

    test(`frees its place when the client disconnects, with ${follow.name}`, async () => {
      // This platform sends no heartbeats, so no failed write tells it that the client is gone.
      const captured = captureLog('info')
      const quiet = await startPlatform(engine, [], { tailHeartbeatMs: 3_600_000 }, captured.log)
      const { organization: group, token } = quiet.owner
      await sealAll(quiet.store)
      const codes = () =>
        captured.written
          .flatMap((text) => text.trim().split('\n'))
          .map((line): { method?: string; code?: string } => JSON.parse(line))
          .flatMap(({ method, code }) => (method?.endsWith('.TailEvents') ? code : []))
      const open = () => follow(quiet.url, { group, follow: true }, token)
      const streams = Array.from({ length: maxStreams }, open)
      for (const stream of streams) await stream.next()
      for (const { disconnect } of streams) disconnect()
      while (codes().length < maxStreams) await fetch(`${quiet.url}/healthz`)
      assert.deepEqual(codes(), Array(maxStreams).fill('CANCELLED'))
      const next = open()
      assert.ok(await next.next())
      next.disconnect()
      await quiet.stop()
    })

    test(`ends without an error when the server stops, with ${follow.name}`, async () => {
      const stopping = await startPlatform(engine)
      const { organization: group, token } = stopping.owner
      const stream = follow(stopping.url, { group, follow: true }, token)
      await stream.next()
      await stopping.stop()
      assert.equal(await stream.ended, 'complete')
    })
  }
})
