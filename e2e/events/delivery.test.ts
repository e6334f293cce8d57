// How events reach the sinks of subscriptions, and what happens if they do not.
import assert from 'node:assert/strict'
import { createHash, createSecretKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { DeliveriesService } from '@stemma/api/gen/platform/events/v2beta1/delivery_pb.ts'
import {
  SubscriptionSchema,
  SubscriptionState,
  SubscriptionsService,
} from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { JWTPayload } from 'jose'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT, UnsecuredJWT } from 'jose'
import { Webhook } from 'standardwebhooks'
import { freePort } from '../../api/testing/free-port.ts'
import { logTo } from '../../server/log.ts'
import { subscriptions } from '../../server/resources/events/subscriptions/table.ts'
import { insertDeliveries, maxPendingDeliveries } from '../../server/store/delivery/deliveries.ts'
import { sql } from '../../server/store/sql.ts'
import { insertRows } from '../../server/store/table.ts'
import type { Work } from '../../server/store/work.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { Door } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { startDocumentedReceiver } from './documented-receiver.ts'
import type { Answer, Received, Sink } from './sink.ts'
import { answerWith, openSink } from './sink.ts'

const {
  createSubscription,
  getSubscription,
  updateSubscription,
  rotateSubscriptionSecret,
  testSubscription,
  deleteSubscription,
  replaySubscription,
} = SubscriptionsService.method
const { createGroup } = GroupsService.method
const { getDelivery, listDeliveries, redeliverEvent } = DeliveriesService.method

type Attempt = { time: string; statusCode: number; latency: string; response: string; error: string }
type Delivery = {
  uid: string
  eventId: string
  state: string
  nextAttemptTime?: string
  attempts: Attempt[]
  requestHeaders?: Record<string, string>
}

const hourMs = 3_600_000

/** The headers of a received request, except those that fetch sets itself. */
function forwardedHeaders({ headers }: Received): Record<string, string> {
  const { host, connection, 'content-length': length, ...others } = headers
  return others as Record<string, string> // no header of a delivery is repeated
}

onEachStore('the delivery of an event', (engine) => {
  let platform: Platform
  let url: string
  let door: Door
  let owner: TestIdentity
  let token: string
  /** How far the clock of the server is ahead. */
  let shift = 0
  /** The time at which the clock of the server stands still, if it does. */
  let stoppedAt: number | undefined
  const now = () => stoppedAt ?? Date.now() + shift
  const sinks: Sink[] = []
  /** The lines of the log of the server. */
  const written: string[] = []

  before(async () => {
    const resolveSink = async (hostname: string) => resolutions[hostname]?.() ?? []
    const port = await freePort()
    url = `http://localhost:${port}`
    platform = await startPlatform(
      engine,
      ['--port', String(port), '--base-url', url],
      { now, resolveSink, deliversInBackground: false },
      logTo({ write: (line: string) => written.push(line) }, 'info'),
    )
    door = restDoor(platform.url)
  })
  beforeEach(async () => {
    shift = 0
    stoppedAt = undefined
    owner = await platform.addOrganization('acme')
    token = owner.token
  })
  after(async () => {
    door.close()
    await platform.stop()
    for (const sink of sinks) sink.close()
  })

  async function call(method: DescMethod, request: JsonObject): Promise<JsonObject> {
    const { body, error } = await door.call(method, request, token)
    assert.ok(body, `${method.name}: ${error?.message}`)
    return body
  }

  async function addSink(answer?: Answer, isHttps?: boolean): Promise<Sink> {
    const sink = await openSink(answer, isHttps)
    sinks.push(sink)
    return sink
  }

  /** A sink that never answers. `release` makes it close its connections. */
  async function addHangingSink(): Promise<Sink & { release(): void }> {
    const held: ServerResponse[] = []
    const sink = await addSink((response) => held.push(response))
    return Object.assign(sink, {
      release() {
        sink.answer = (response) => response.destroy()
        for (const response of held) response.destroy()
      },
    })
  }

  /** By default, only test events are sent: they ignore `eventTypes`, and no other event has this type. */
  async function subscribe(sink: string, fields: JsonObject = {}): Promise<{ uid: string; secret: string }> {
    const subscription = { sink, eventTypes: ['dev.stemma.test.'], ...fields }
    const made = await call(createSubscription, { parent: owner.organization, subscription })
    return { uid: made.uid as string, secret: made.secret as string }
  }

  const sendTest = async (uid: string) => (await call(testSubscription, { uid })).uid as string

  const read = async (uid: string) => (await call(getDelivery, { uid })) as unknown as Delivery

  /** Sends a test event to a new subscription. */
  async function deliverTo(sink: string): Promise<Delivery> {
    const { uid } = await subscribe(sink)
    const delivery = await sendTest(uid)
    await platform.app.deliverEvents()
    return read(delivery)
  }

  const addGroup = async (parent: string, name: string) =>
    (await call(createGroup, { parent, group: { name } })).uid as string

  /** Lines of the log about the disabling of a subscription. */
  const disabledLines = (uid: string) =>
    written.filter((line) => line.includes('a subscription was disabled') && line.includes(uid))

  /** Sets the clock, and gets a token that is valid then. */
  async function moveTo(time: number): Promise<void> {
    shift = time - Date.now()
    token = await platform.tokenOf(owner.identity)
  }

  /** Like `moveTo`, but the clock then stands still, so that waits have an exact length. */
  async function stopAt(time: number): Promise<void> {
    stoppedAt = time
    token = await platform.tokenOf(owner.identity)
  }

  test('carries an id token and a signature that the libraries of receivers verify', async () => {
    const sink = await addSink()
    const { uid, secret } = await subscribe(sink.url)
    const delivery = await sendTest(uid)
    await platform.app.deliverEvents()
    const [{ headers, body }] = sink.events as [Received]
    assert.equal(headers['ce-type'], 'dev.stemma.api.events.subscription.test.v1')
    assert.equal(headers['ce-specversion'], '1.0')
    assert.equal(headers['ce-source'], `${platform.config.baseUrl}/events/v2beta1/subscriptions`)
    assert.equal(headers['ce-subject'], uid)
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(headers['webhook-request-origin'], 'localhost')
    assert.equal(headers['webhook-id'], headers['ce-id'])
    new Webhook(secret).verify(body, headers as Record<string, string>)

    const discovery = await fetch(`${platform.url}/.well-known/openid-configuration`)
    const { issuer, jwks_uri: keySet } = (await discovery.json()) as { issuer: string; jwks_uri: string }
    const keys = createRemoteJWKSet(new URL(new URL(keySet).pathname, platform.url))
    const idToken = (headers.authorization ?? '').replace('Bearer ', '')
    const { payload, protectedHeader } = await jwtVerify(idToken, keys, { issuer, audience: 'customer' })
    assert.equal(protectedHeader.alg, 'RS256')
    assert.equal(payload.sub, `webhook:${owner.organization}`)
    const digest = createHash('sha256').update(body).digest('hex')
    assert.deepEqual(payload.webhook, { digest: `sha256:${digest}` })
    const asCaller = await door.call(getSubscription, { uid }, idToken)
    assert.equal(asCaller.error?.code, 16, 'the token is no access token')

    // The delivery shows the headers, but nothing with which the request could be sent again.
    const { host, accept, 'user-agent': agent, connection, ...sent } = headers
    assert.deepEqual((await read(delivery)).requestHeaders, {
      ...{ ...sent, authorization: 'Bearer …', 'webhook-signature': '…' },
    })
  })

  test('is accepted by the receiver of the documentation, which refuses forged and replayed requests', async () => {
    const sink = await addSink()
    const { uid, secret } = await subscribe(sink.url)
    await sendTest(uid)
    await platform.app.deliverEvents()
    const [received] = sink.events as [Received]
    const [headers, { body }] = [forwardedHeaders(received), received]
    const { authorization = '', 'webhook-id': id = '' } = headers
    const token = authorization.replace('Bearer ', '')
    const [claims, head] = [decodeJwt(token), decodeProtectedHeader(token)]
    const { privateKey } = platform.keys.idTokenSigning()
    const sign = (changed: JWTPayload, key: Parameters<SignJWT['sign']>[0] = privateKey, alg = 'RS256') =>
      new SignJWT({ ...claims, ...changed }).setProtectedHeader({ ...head, alg }).sign(key)
    const signature = (key = secret, time = new Date(), content = body, name = id) => ({
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
      'webhook-signature': new Webhook(key).sign(name, time, content),
    })
    const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const publicKey = JSON.stringify(platform.keys.published())
    const past = new Date(Date.now() - 600_000)
    const digest = `sha256:${createHash('sha256').update('{}').digest('hex')}`

    const forgedTokens: Record<string, string> = {
      'no token': '',
      'no algorithm': new UnsecuredJWT(claims).encode(),
      'another key': await sign({}, otherKey),
      'the public key as a secret': await sign({}, createSecretKey(Buffer.from(publicKey)), 'HS256'),
      'another issuer': await sign({ iss: 'https://stemma.test' }),
      'another audience': await sign({ aud: 'employee' }),
      'another subject': await sign({ sub: `webhook:${platform.owner.organization}` }),
      'an expired token': await sign({ exp: Math.floor(Date.now() / 1000) - 1 }),
      'the token of another body': await sign({ webhook: { digest } }),
      'a token without a digest': await sign({ webhook: undefined }),
      'an access token': owner.token,
    }
    const [time, right] = [signature()['webhook-timestamp'], signature()['webhook-signature']]
    const forgedSignatures: Record<string, Record<string, string>> = {
      'no signature': {},
      'an empty signature': { ...signature(), 'webhook-signature': 'v1,' },
      'another version': { ...signature(), 'webhook-signature': right.replace('v1', 'v1a') },
      'another secret': signature(`whsec_${Buffer.alloc(32, 1).toString('base64')}`),
      'the signature of another body': signature(secret, new Date(), '{}'),
      'the signature of another id': signature(secret, new Date(), body, 'another'),
      'an old timestamp': signature(secret, past),
      'an old signature with a new timestamp': { ...signature(secret, past), 'webhook-timestamp': time },
      'a timestamp that is not a number': { ...signature(), 'webhook-timestamp': 'now' },
    }

    const receiver = await startDocumentedReceiver(url, owner.organization, secret)
    try {
      assert.equal(await receiver.send(headers, body), 204)
      const rightToken = `Bearer ${await sign({})}`
      assert.equal(await receiver.send({ authorization: rightToken, ...signature() }, body), 204)
      assert.equal(await receiver.send(headers, '{}'), 401)
      for (const [name, forged] of Object.entries(forgedTokens))
        assert.equal(
          await receiver.send({ ...headers, ...signature(), authorization: `Bearer ${forged}` }, body),
          401,
          name,
        )
      for (const [name, forged] of Object.entries(forgedSignatures))
        assert.equal(await receiver.send({ authorization, ...forged }, body), 401, name)
    } finally {
      await receiver.stop()
    }
  })

  test('is a JSON object with attributes and data in structured mode', async () => {
    const sink = await addSink()
    const { uid, secret } = await subscribe(sink.url, { contentMode: 'CONTENT_MODE_STRUCTURED' })
    await sendTest(uid)
    await platform.app.deliverEvents()
    const [received] = sink.events as [Received]
    const [headers, { body }] = [forwardedHeaders(received), received]
    assert.match(headers['content-type'] ?? '', /^application\/cloudevents\+json/)
    const { type, subject, data } = JSON.parse(body)
    assert.deepEqual([type, subject], ['dev.stemma.api.events.subscription.test.v1', uid])
    assert.deepEqual(data, { actor: { subject: owner.identity }, body: { uid } })
    new Webhook(secret).verify(body, headers)

    const receiver = await startDocumentedReceiver(url, owner.organization, secret)
    try {
      assert.equal(await receiver.send(headers, body), 204)
      const otherSubject = body.replace(uid, 'f'.repeat(40))
      assert.equal(await receiver.send(headers, otherSubject), 401, 'the signature covers the attributes')
      const [time, otherData] = [new Date(), body.replace('"body":', '"text":')]
      const signed = {
        'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
        'webhook-signature': new Webhook(secret).sign(headers['webhook-id'] ?? '', time, otherData),
      }
      assert.equal(
        await receiver.send({ ...headers, ...signed }, otherData),
        401,
        'the token covers the data',
      )
    } finally {
      await receiver.stop()
    }
  })

  test('is signed with both secrets during the overlap of a rotation, and then with the new one', async () => {
    const sink = await addSink()
    const { uid, secret: old } = await subscribe(sink.url)
    const { secret } = await call(rotateSubscriptionSecret, { uid, overlap: '60s' })
    await sendTest(uid)
    await platform.app.deliverEvents()
    await moveTo(now() + 61_000)
    await sendTest(uid)
    await platform.app.deliverEvents()
    const [during, afterwards] = sink.events as [Received, Received]
    for (const { body, headers } of [during, afterwards])
      verify(secret as string, body, headers as Record<string, string>, now())
    verify(old, during.body, during.headers as Record<string, string>, now())
    assert.throws(() => verify(old, afterwards.body, afterwards.headers as Record<string, string>, now()))
    const read = await call(getSubscription, { uid })
    assert.equal(read.secret, undefined, 'the secret cannot be read')
  })

  test('follows a handshake, whose result is recorded', async () => {
    const sink = await addSink()
    const { uid } = await subscribe(sink.url)
    assert.equal((await call(getSubscription, { uid })).handshake, 'HANDSHAKE_PENDING')
    await platform.app.deliverEvents()
    assert.deepEqual(
      sink.handshakes.map(({ headers }) => headers['webhook-request-origin']),
      ['localhost'],
    )
    assert.equal((await call(getSubscription, { uid })).handshake, 'HANDSHAKE_NOT_ALLOWED')
  })

  test('happens as often as the sink allows, and not more', async () => {
    const sink = await addSink()
    sink.allowedRate = '2'
    const start = now()
    await stopAt(start)
    const { uid } = await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    for (const name of ['a', 'b', 'c', 'd']) await addGroup(owner.organization, name)
    for (const [seconds, count] of [
      [0, 1],
      [29, 1],
      [31, 2],
      [62, 3],
      [93, 4],
    ] as const) {
      await stopAt(start + seconds * 1000)
      await platform.app.deliverEvents()
      assert.equal(sink.events.length, count, `after ${seconds} seconds`)
    }
    // The queue is empty now. A new event waits until the sink allows another request.
    await addGroup(owner.organization, 'e')
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 4)
    await stopAt(start + 124_000)
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 5)
    await call(deleteSubscription, { uid })
  })

  test('waits for the rate that the sink allows, even if a test, a redelivery or a replay is requested', async () => {
    const sink = await addSink()
    sink.allowedRate = '1'
    await platform.app.deliverEvents() // seals the creation of the organization
    const start = now()
    await stopAt(start)
    const { uid } = await subscribe(sink.url)
    const delivery = await sendTest(uid)
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 1)
    const requests = [
      () => sendTest(uid),
      () => call(redeliverEvent, { uid: delivery }),
      () => call(replaySubscription, { uid, since: new Date(now() - 1000).toISOString() }),
    ]
    for (const request of requests) {
      await request()
      await platform.app.deliverEvents()
      assert.equal(sink.events.length, 1)
    }
    for (const count of [2, 3]) {
      await stopAt(start + (count - 1) * 62_000)
      await platform.app.deliverEvents()
      assert.equal(sink.events.length, count)
    }
  })

  test('waits as long as Retry-After says, even if a test or a redelivery is requested', async () => {
    const sink = await addSink(answerWith(429, { 'retry-after': '3600' }))
    const { uid } = await subscribe(sink.url)
    const delivery = await sendTest(uid)
    await platform.app.deliverEvents()
    sink.answer = answerWith(204)
    await sendTest(uid)
    await call(redeliverEvent, { uid: delivery })
    await platform.app.deliverEvents()
    for (const state of ['SUBSCRIPTION_STATE_PAUSED', 'SUBSCRIPTION_STATE_ACTIVE'])
      await call(updateSubscription, { subscription: { uid, state }, updateMask: 'state' })
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 1)
    const { nextAttemptTime = '' } = await read(delivery)
    assert.ok(Date.parse(nextAttemptTime) > now() + hourMs / 2, nextAttemptTime)
    await moveTo(Date.parse(nextAttemptTime))
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 3)
  })

  test('is listed in pages, in both orders, with the exact total', async () => {
    const sink = await addSink()
    const { uid } = await subscribe(sink.url)
    const made: string[] = []
    for (let at = 0; at < 5; at++) {
      await moveTo(now() + 1000)
      made.push(await sendTest(uid))
    }
    const list = async (request: JsonObject) => {
      const page = await call(listDeliveries, { subscription: uid, pageSize: 2, ...request })
      const uids = (page.deliveries as unknown as Delivery[]).map((delivery) => delivery.uid)
      return { uids, next: page.nextPageToken as string | undefined, total: page.totalCount }
    }
    const first = await list({ orderBy: 'create_time' })
    assert.deepEqual([first.uids, first.total], [made.slice(0, 2), '5'])
    const second = await list({ orderBy: 'create_time', pageToken: first.next ?? '' })
    assert.deepEqual(second.uids, made.slice(2, 4))
    assert.deepEqual((await list({})).uids, made.slice(3).reverse())
    assert.deepEqual((await list({ orderBy: 'create_time', skip: 4 })).uids, made.slice(4))
    assert.equal((await list({ state: 'DELIVERY_STATE_FAILED' })).total, '0')
    const wrong = await door.call(listDeliveries, { subscription: uid, orderBy: 'state' }, token)
    assert.match(wrong.error?.message ?? '', /create_time desc/)
  })

  test('is attempted for 72 hours, is then listed as failed, and can be repeated', async () => {
    const sink = await addSink(answerWith(500, {}, 'out of order'))
    const { uid } = await subscribe(sink.url)
    const start = now()
    const delivery = await sendTest(uid)
    await platform.app.deliverEvents()
    const times = [0]
    for (let last = await read(delivery); last.nextAttemptTime; last = await read(delivery)) {
      assert.equal(last.attempts.at(-1)?.response, 'out of order')
      await moveTo(Date.parse(last.nextAttemptTime))
      times.push(now() - start)
      await platform.app.deliverEvents()
    }
    assert.equal(sink.events.length, times.length)
    assert.equal(new Set(sink.events.map(({ headers }) => headers['webhook-id'])).size, 1)
    const delays = times.slice(1).map((time, at) => time - (times[at] ?? 0))
    const planned = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000]
    for (const [at, seconds] of planned.slice(0, delays.length - 1).entries()) {
      assert.ok((delays[at] ?? 0) >= seconds * 1000 - 5, `delay ${at}: ${delays[at]}`)
      assert.ok((delays[at] ?? 0) <= seconds * 1100 + 60_000, `delay ${at}: ${delays[at]}`)
    }
    assert.ok(Math.abs((times.at(-1) ?? 0) - 72 * hourMs) < 60_000, 'the last attempt is at the deadline')

    const { deliveries } = await call(listDeliveries, { subscription: uid, state: 'DELIVERY_STATE_FAILED' })
    assert.deepEqual(
      (deliveries as unknown as Delivery[]).map((failed) => failed.uid),
      [delivery],
    )
    sink.answer = answerWith(204)
    await call(redeliverEvent, { uid: delivery })
    await platform.app.deliverEvents()
    const delivered = await read(delivery)
    assert.equal(delivered.state, 'DELIVERY_STATE_DELIVERED')
    assert.equal(delivered.attempts.length, times.length + 1)
  })

  test('is counted as failed if the event is no longer stored', async () => {
    const failedCount = async () => {
      const metrics = await (await fetch(`${platform.url}/metrics`)).text()
      return Number(/^stemma_event_dead_letters_total (\d+)$/m.exec(metrics)?.[1])
    }
    const sink = await addSink(answerWith(503))
    await platform.app.deliverEvents() // seals the creation of the organization
    const { uid } = await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    await addGroup(owner.organization, 'forgotten')
    await platform.app.deliverEvents()
    const before = await failedCount()
    await platform.store.write(function* () {
      yield sql`delete from events where root = ${owner.organization}`
    })
    await moveTo(now() + 6000)
    await platform.app.deliverEvents()
    const { deliveries } = await call(listDeliveries, { subscription: uid })
    const [{ state }] = deliveries as unknown as [Delivery]
    assert.deepEqual([state, await failedCount()], ['DELIVERY_STATE_FAILED', before + 1])
    assert.equal(sink.events.length, 1)
  })

  test('is sent again if that was requested while an attempt was under way', async () => {
    const sink = await addSink()
    const { uid } = await subscribe(sink.url)
    const delivery = await sendTest(uid)
    await moveTo(now() + 1)
    sink.answer = (response) => {
      sink.answer = answerWith(204)
      call(redeliverEvent, { uid: delivery }).then(
        () => response.writeHead(204).end(),
        () => response.destroy(),
      )
    }
    await platform.app.deliverEvents()
    const { state, attempts } = await read(delivery)
    assert.deepEqual([state, attempts.length], ['DELIVERY_STATE_DELIVERED', 2])
    assert.equal(sink.events.length, 2)
  })

  test('waits as long as Retry-After says, but at most a day', async () => {
    await stopAt(now())
    for (const [retryAfter, leastMs, mostMs] of [
      ['3600', hourMs, 1.2 * hourMs],
      ['999999999999', 24 * hourMs, 24.1 * hourMs],
      ['-7', 0, 10_000],
    ] as const) {
      const sink = await addSink(answerWith(429, { 'retry-after': retryAfter }))
      const { nextAttemptTime = '' } = await deliverTo(sink.url)
      const waitMs = Date.parse(nextAttemptTime) - now()
      assert.ok(waitMs >= leastMs && waitMs <= mostMs, `${retryAfter}: ${waitMs}`)
    }
  })

  test('waits as long as Retry-After says, also after several failures in a row', async () => {
    const sink = await addSink(answerWith(429, { 'retry-after': '12' }))
    await platform.app.deliverEvents() // seals the creation of the organization
    const start = now()
    await stopAt(start)
    await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    for (const name of ['a', 'b', 'c', 'd']) await addGroup(owner.organization, name)
    for (const count of [1, 2, 3, 4, 5]) {
      await platform.app.deliverEvents()
      assert.equal(sink.events.length, count)
      await stopAt(start + count * 13_000)
    }
  })

  test('is not delayed by an event that the sink has refused', async () => {
    const sink = await addSink((response, { body }) =>
      response.writeHead(body.includes('refused') ? 400 : 204).end(),
    )
    await platform.app.deliverEvents() // seals the creation of the organization
    await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    const groups: string[] = []
    for (const name of ['before', 'refused', 'after']) {
      groups.push(await addGroup(owner.organization, name))
      await platform.app.deliverEvents()
    }
    assert.deepEqual(subjectsOf(sink), groups)
  })

  test('does not begin while 1000 events wait for another attempt, and no turn is due before that attempt', async () => {
    const sink = await addSink()
    await platform.app.deliverEvents() // seals the creation of the organization
    const { uid } = await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    await platform.app.deliverEvents()
    const subject = await addGroup(owner.organization, 'waiting')
    const waiting = Array.from({ length: maxPendingDeliveries }, (_, at) => ({
      ...{ uid: `${uid}/${at.toString(16).padStart(16, '0')}`, subscription: uid, sequence: 1 },
      ...{ eventId: 'x', eventType: 'x', subject: 'x', testEvent: JSON.stringify(exampleEvent) },
    }))
    const later = now() + hourMs
    await platform.store.write(function* () {
      yield* insertDeliveries(waiting, now())
      yield sql`update deliveries set next_time = ${later} where subscription = ${uid}`
    })
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 0)
    const [queue] = await platform.store.query(
      sql`select due_time from delivery_queues where subscription = ${uid}`,
    )
    assert.deepEqual(queue, [later])
    await call(redeliverEvent, { uid: waiting[0]?.uid ?? '' })
    await platform.app.deliverEvents()
    assert.deepEqual(subjectsOf(sink), ['example', subject])
    await call(deleteSubscription, { uid })
  })

  test('is paused for only a few seconds at first if the sink refuses ten events in a row', async () => {
    const sink = await addSink(answerWith(400))
    await platform.app.deliverEvents() // seals the creation of the organization
    await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    for (let at = 0; at < 12; at++) await addGroup(owner.organization, `group-${at}`)
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 10)
    for (const [at, seconds] of [6, 21, 81, 301, 301].entries()) {
      await moveTo(now() + seconds * 1000)
      await platform.app.deliverEvents()
      assert.equal(sink.events.length, 11 + at, `after another ${seconds} seconds`)
    }
  })

  test('is paused for only a few seconds if several requests that a sink gets at the same time fail', async () => {
    const sink = await addSink()
    await platform.app.deliverEvents() // seals the creation of the organization
    const { uid } = await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    await addGroup(owner.organization, 'first')
    await platform.app.deliverEvents()
    // A sink that works gets four requests at a time. It answers none of them before it has all.
    const held: ServerResponse[] = []
    sink.answer = (response) => {
      if (held.push(response) === 4) for (const each of held) each.writeHead(503).end()
    }
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await addGroup(owner.organization, name)
    await stopAt(now())
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 5)
    sink.answer = answerWith(204)
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 5)
    const { deliveries } = await call(listDeliveries, { subscription: uid })
    const pending = (deliveries as unknown as Delivery[]).filter(({ nextAttemptTime }) => nextAttemptTime)
    assert.equal(pending.length, 4)
    for (const { nextAttemptTime = '' } of pending) assert.ok(Date.parse(nextAttemptTime) > now())
    await stopAt(now() + 6000)
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 11)
  })

  test('with the answer 410 disables the subscription until it is activated again', async () => {
    const sink = await addSink(answerWith(410))
    const { uid } = await subscribe(sink.url)
    const delivery = await sendTest(uid)
    await platform.app.deliverEvents()
    const disabled = await call(getSubscription, { uid })
    assert.equal(disabled.state, 'SUBSCRIPTION_STATE_DISABLED')
    assert.equal(disabled.stateReason, 'the sink answered with the status 410')
    assert.equal(disabledLines(uid).length, 1)
    assert.equal((await read(delivery)).nextAttemptTime, undefined, 'there is none while it is disabled')
    const refused = await door.call(testSubscription, { uid }, token)
    assert.equal(refused.error?.code, 9)

    sink.answer = answerWith(200)
    const active = { uid, state: 'SUBSCRIPTION_STATE_ACTIVE' }
    const updated = await call(updateSubscription, { subscription: active, updateMask: 'state' })
    assert.equal(updated.stateReason, '')
    await moveTo(now() + 10_000)
    await platform.app.deliverEvents()
    assert.equal((await read(delivery)).state, 'DELIVERY_STATE_DELIVERED')
  })

  test('with the answer 410 does not disable a subscription that was paused meanwhile', async () => {
    const sink = await addSink()
    const { uid } = await subscribe(sink.url)
    const paused = { uid, state: 'SUBSCRIPTION_STATE_PAUSED' }
    sink.answer = (response) => {
      call(updateSubscription, { subscription: paused, updateMask: 'state' }).then(
        () => response.writeHead(410).end(),
        () => response.destroy(),
      )
    }
    await sendTest(uid)
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 1)
    assert.equal((await call(getSubscription, { uid })).state, 'SUBSCRIPTION_STATE_PAUSED')
    assert.deepEqual(disabledLines(uid), [])
  })

  test('does not disable the subscription long after the only event that was refused', async () => {
    const sink = await addSink(answerWith(400))
    const { uid } = await subscribe(sink.url)
    const delivery = await sendTest(uid)
    await platform.app.deliverEvents()
    await moveTo(now() + 73 * hourMs)
    await platform.app.deliverEvents()
    assert.equal((await read(delivery)).state, 'DELIVERY_STATE_FAILED')
    await moveTo(now() + 73 * hourMs)
    await addGroup(owner.organization, 'unrelated')
    await platform.app.deliverEvents()
    assert.equal((await call(getSubscription, { uid })).state, 'SUBSCRIPTION_STATE_ACTIVE')
  })

  test('disables the subscription if nothing succeeds for five days', async () => {
    const sink = await addSink(answerWith(503))
    const { uid } = await subscribe(sink.url)
    await sendTest(uid)
    await platform.app.deliverEvents()
    await moveTo(now() + 121 * hourMs)
    await platform.app.deliverEvents()
    const { state, stateReason } = await call(getSubscription, { uid })
    assert.deepEqual(
      [state, stateReason],
      ['SUBSCRIPTION_STATE_DISABLED', 'no delivery has succeeded for five days'],
    )
  })

  test('goes to a new sink at once, whatever the old one answers after the change', async () => {
    for (const [status, headers] of [
      [410, {}],
      [429, { 'retry-after': '3600' }],
      [200, {}],
    ] as const) {
      const held: ServerResponse[] = []
      const old = await addSink((response) => held.push(response))
      const { uid } = await subscribe(old.url)
      const deliveries = [await sendTest(uid), await sendTest(uid)]
      const settled = platform.app.deliverEvents()
      await old.until(1)
      const sink = await addSink()
      await call(updateSubscription, { subscription: { uid, sink: sink.url }, updateMask: 'sink' })
      for (const response of held) response.writeHead(status, headers).end()
      await settled
      const { state, handshake } = await call(getSubscription, { uid })
      assert.deepEqual([state, handshake], ['SUBSCRIPTION_STATE_ACTIVE', 'HANDSHAKE_NOT_ALLOWED'])
      assert.deepEqual([sink.handshakes.length, sink.events.length, old.events.length], [1, 2, 1])
      for (const delivery of deliveries) {
        const { state, attempts } = await read(delivery)
        assert.deepEqual(
          [state, attempts.map(({ statusCode }) => statusCode)],
          ['DELIVERY_STATE_DELIVERED', [204]],
        )
      }
    }
  })

  test('is not affected by the handshake of a sink that was replaced meanwhile', async () => {
    const old = await addSink()
    const asked = new Promise<ServerResponse>((resolve) => {
      old.answerHandshake = resolve
    })
    const { uid } = await subscribe(old.url)
    const settled = platform.app.deliverEvents()
    const response = await asked
    const sink = await addSink()
    await call(updateSubscription, { subscription: { uid, sink: sink.url }, updateMask: 'sink' })
    for (let at = 0; at < 3; at++) await sendTest(uid)
    response.writeHead(204, { 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '1' }).end()
    await settled
    assert.equal((await call(getSubscription, { uid })).handshake, 'HANDSHAKE_NOT_ALLOWED')
    assert.deepEqual([sink.handshakes.length, sink.events.length, old.events.length], [1, 3, 0])
  })

  test('stops while the subscription is paused, and after it was deleted', async () => {
    const sink = await addSink(answerWith(500))
    const { uid } = await subscribe(sink.url)
    await sendTest(uid)
    await platform.app.deliverEvents()
    const paused = { uid, state: 'SUBSCRIPTION_STATE_PAUSED' }
    await call(updateSubscription, { subscription: paused, updateMask: 'state' })
    await moveTo(now() + 10_000)
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 1)
    await call(deleteSubscription, { uid })
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 1)
  })

  /** The sink performs the calls before it answers the next request. */
  function answerAfter(sink: Sink, status: number, calls: () => Promise<unknown>): void {
    sink.answer = (response) => {
      sink.answer = answerWith(status)
      calls().then(
        () => response.writeHead(status).end(),
        () => response.destroy(),
      )
    }
  }

  test('stops during a turn if the subscription is paused', async () => {
    const sink = await addSink()
    const { uid } = await subscribe(sink.url)
    const paused = { uid, state: 'SUBSCRIPTION_STATE_PAUSED' }
    answerAfter(sink, 204, () => call(updateSubscription, { subscription: paused, updateMask: 'state' }))
    const first = await sendTest(uid)
    await sendTest(uid)
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 1)
    assert.equal((await read(first)).state, 'DELIVERY_STATE_DELIVERED')
  })

  test('does not wait if a redelivery is requested while its sink fails', async () => {
    const sink = await addSink()
    const { uid } = await subscribe(sink.url)
    const delivery = await sendTest(uid)
    answerAfter(sink, 500, () => call(redeliverEvent, { uid: delivery }))
    await platform.app.deliverEvents()
    await platform.app.deliverEvents()
    assert.equal(sink.events.length, 2)
  })

  test('forgets the failure of a turn during which the subscription became active again', async () => {
    const sink = await addSink()
    const { uid } = await subscribe(sink.url)
    await sendTest(uid)
    answerAfter(sink, 500, async () => {
      for (const state of ['SUBSCRIPTION_STATE_PAUSED', 'SUBSCRIPTION_STATE_ACTIVE'])
        await call(updateSubscription, { subscription: { uid, state }, updateMask: 'state' })
    })
    await platform.app.deliverEvents()
    await platform.app.deliverEvents()
    const [row] = await platform.store.query(
      sql`select failures from delivery_queues where subscription = ${uid}`,
    )
    assert.deepEqual([sink.events.length, row?.[0]], [2, 1])
  })

  test('is not delayed by a sink of another subscription that does not answer', async () => {
    const hanging = await addHangingSink()
    const good = await addSink()
    const [slow, fast] = [await subscribe(hanging.url), await subscribe(good.url)]
    const slowDelivery = await sendTest(slow.uid)
    for (let at = 0; at < 20; at++) await sendTest(fast.uid)
    const settled = platform.app.deliverEvents()
    await good.until(20)
    assert.deepEqual((await read(slowDelivery)).attempts, [], 'the other sink is still waited for')
    hanging.release()
    await settled
    assert.equal((await read(slowDelivery)).attempts.length, 1)
  })

  test('happens for every event of the group and below that has one of the types', async () => {
    const [all, some, below] = [await addSink(), await addSink(), await addSink()]
    await platform.app.deliverEvents() // seals the creation of the organization
    await subscribe(all.url, { eventTypes: [] })
    await subscribe(some.url, { eventTypes: ['dev.stemma.api.iam.group.', 'dev.stemma.api.none.'] })
    const parent = await addGroup(owner.organization, 'below')
    await call(createSubscription, { parent, subscription: { sink: below.url } })
    await platform.app.deliverEvents()
    const inner = await addGroup(parent, 'inner')
    const outer = await addGroup(owner.organization, 'outer')
    await platform.app.deliverEvents()

    assert.deepEqual(subjectsOf(some).sort(), [parent, inner, outer].sort())
    assert.deepEqual(subjectsOf(below).slice(-1), [inner], 'the creation of the subscription came before')
    assert.ok(!subjectsOf(below).includes(outer))
    const sequences = all.events.map(({ headers }) => Number(headers['ce-sequence'])).sort((a, b) => a - b)
    assert.deepEqual(
      sequences,
      sequences.map((_, at) => (sequences[0] ?? 0) + at),
      'every event of the organization',
    )
    assert.ok(all.events.length > some.events.length)
    const { body } = some.events.find(({ headers }) => headers['ce-subject'] === inner) as Received
    assert.equal(JSON.parse(body).body.name, 'inner')
  })

  test('happens again when events are replayed, with the same ids', async () => {
    const sink = await addSink()
    await platform.app.deliverEvents() // seals the creation of the organization
    const { uid } = await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    const start = now()
    await addGroup(owner.organization, 'before')
    await moveTo(start + 60_000)
    const groups: string[] = []
    for (const name of ['a', 'b', 'c']) groups.push(await addGroup(owner.organization, name))
    await platform.app.deliverEvents()
    const ids = new Set(idsOf(sink))
    assert.equal(ids.size, 4)
    await call(replaySubscription, { uid, since: new Date(start + 30_000).toISOString() })
    await platform.app.deliverEvents()
    assert.deepEqual(subjectsOf(sink).slice(4).sort(), groups.toSorted())
    assert.ok(idsOf(sink).every((id) => ids.has(id)))
  })

  test('happens again in a replay, even if an earlier event was sealed later', async () => {
    const sink = await addSink()
    await platform.app.deliverEvents() // seals the creation of the organization
    const { uid } = await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    const start = now()
    await moveTo(start + 60_000)
    const later = await addGroup(owner.organization, 'later')
    await platform.app.deliverEvents()
    await moveTo(start + 20_000)
    await addGroup(owner.organization, 'earlier')
    await platform.app.deliverEvents()
    await moveTo(start + 90_000)
    await addGroup(owner.organization, 'last')
    await platform.app.deliverEvents()
    const sentBefore = sink.events.length
    assert.equal(sentBefore, 3)
    await call(replaySubscription, { uid, since: new Date(start + 40_000).toISOString() })
    await platform.app.deliverEvents()
    assert.ok(subjectsOf(sink).slice(sentBefore).includes(later))
  })

  test('continues after a pause with the events of the last 72 hours', async () => {
    const sink = await addSink()
    const { uid } = await subscribe(sink.url, { eventTypes: ['dev.stemma.api.iam.group.'] })
    const setState = (state: string) =>
      call(updateSubscription, { subscription: { uid, state }, updateMask: 'state' })
    await setState('SUBSCRIPTION_STATE_PAUSED')
    await addGroup(owner.organization, 'too-old')
    await platform.app.deliverEvents()
    await moveTo(now() + 73 * hourMs)
    const recent = await addGroup(owner.organization, 'recent')
    await platform.app.deliverEvents()
    assert.deepEqual(sink.events, [])
    await setState('SUBSCRIPTION_STATE_ACTIVE')
    await platform.app.deliverEvents()
    assert.deepEqual(subjectsOf(sink), [recent])
  })

  test('is not delayed by hundreds of dead sinks of another organization, which get few connections', async () => {
    const hanging = await addHangingSink()
    const tenant = await platform.addOrganization('hostile')
    await platform.store.write(() => addDeadSinks(tenant.organization, hanging.url, 500, now()))
    const good = await addSink()
    const { uid } = await subscribe(good.url)
    for (let at = 0; at < 5; at++) await sendTest(uid)
    const settled = platform.app.deliverEvents()
    await good.until(5)
    assert.ok(hanging.events.length <= 4, `${hanging.events.length} dead sinks are waited for`)
    hanging.release()
    await platform.store.write(function* () {
      yield sql`update delivery_queues set due_time = null, is_active = 0 where root = ${tenant.organization}`
    })
    await settled
  })

  test('is not delayed by hundreds of slow sinks of several organizations that have accepted events', async () => {
    const good = await addSink()
    const { uid } = await subscribe(good.url)
    await sendTest(uid)
    await platform.app.deliverEvents()
    const hanging = await addHangingSink()
    const organizations: string[] = []
    for (const name of ['hostile', 'hostile-2', 'hostile-3'])
      organizations.push((await platform.addOrganization(name)).organization)
    await platform.store.write(function* () {
      for (const organization of organizations) {
        yield* addDeadSinks(organization, hanging.url, 100, now())
        yield sql`update delivery_queues set is_proven = 1 where root = ${organization}`
      }
    })
    const settled = platform.app.deliverEvents()
    await hanging.until(24)
    await sendTest(uid)
    const settledAgain = platform.app.deliverEvents()
    await good.until(2)
    // Each of the places that are not reserved sends up to four events.
    assert.ok(hanging.events.length <= 24 * 4, `${hanging.events.length} requests were sent before`)
    hanging.release()
    await platform.store.write(function* () {
      for (const organization of organizations)
        yield sql`update delivery_queues set due_time = null, is_active = 0 where root = ${organization}`
    })
    await Promise.all([settled, settledAgain])
  })

  test('survives sinks that send a large body, trickle one, reset, redirect, or have a bad certificate', async () => {
    const huge = await addSink((response) => {
      response.writeHead(200)
      const fill = () => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', fill)
      }
      fill()
    })
    const trickling = await addSink((response) => {
      response.writeHead(200).write('y')
    })
    const other = await addSink()
    const resetting = await addSink((response) => response.socket?.resetAndDestroy())
    const redirecting = await addSink(answerWith(302, { location: other.url }))
    const selfSigned = await addSink(answerWith(204), true)

    const outcomeOf = async (sink: Sink) => {
      const { state, attempts } = await deliverTo(sink.url)
      const [{ statusCode, response, error }] = attempts as [Attempt]
      return {
        state: state.replace('DELIVERY_STATE_', ''),
        statusCode,
        response: response.slice(0, 9),
        error,
        length: response.length,
      }
    }
    const delivered = { state: 'DELIVERED', statusCode: 200, error: '' }
    assert.deepEqual(await outcomeOf(huge), { ...delivered, response: 'xxxxxxxxx', length: 1024 })
    assert.deepEqual(await outcomeOf(trickling), { ...delivered, response: 'y', length: 1 })
    const pending = { state: 'PENDING', statusCode: 0, response: '', length: 0 }
    assert.deepEqual(await outcomeOf(resetting), { ...pending, error: 'the connection was reset' })
    assert.deepEqual(await outcomeOf(redirecting), { ...pending, statusCode: 302, error: '' })
    assert.deepEqual(await outcomeOf(selfSigned), { ...pending, error: 'the certificate is self-signed' })
    assert.deepEqual([other.events.length, selfSigned.events.length], [0, 0])
  })

  test('is never sent to addresses of the internal network, or to the server itself', async (t) => {
    let connections = 0
    const internal = createServer((socket) => {
      connections++
      socket.destroy()
    }).listen(0, '127.0.0.1')
    t.after(() => void internal.close())
    await once(internal, 'listening')
    const { port } = internal.address() as AddressInfo // it listens on TCP
    const hosts = ['private.test', 'metadata.test', 'nowhere.test', '10.0.0.1', '169.254.169.254']
    const namesOfInternal = ['loopback.test', 'mapped.test', '[::ffff:7f00:1]']
    for (const sink of [
      ...hosts.map((host) => `https://${host}/latest`),
      ...namesOfInternal.map((host) => `https://${host}:${port}/`),
      `${url}/events/v2beta1/subscriptions`,
    ]) {
      const { attempts } = await deliverTo(sink)
      assert.equal(
        attempts[0]?.error,
        'the host has no public address, or only addresses of this server',
        sink,
      )
    }
    assert.equal(connections, 0)
  })
})

const subjectsOf = ({ events }: Sink) => events.map(({ headers }) => headers['ce-subject'])
const idsOf = ({ events }: Sink) => events.map(({ headers }) => headers['ce-id'])

/** The content of a test event. */
const exampleEvent = {
  attributes: { specversion: '1.0', id: 'x', source: 'http://localhost', type: 'x', subject: 'example' },
  contentType: 'application/json',
  data: '{}',
}

/** Subscriptions whose queues are due. */
function* addDeadSinks(parent: string, sink: string, count: number, now: number): Work<void> {
  const uids = Array.from({ length: count }, (_, at) => `${parent}/${at.toString(16).padStart(16, '0')}`)
  const subscription = create(SubscriptionSchema, { sink, state: SubscriptionState.ACTIVE })
  const columns = { secret: '', previous_secret: '', previous_secret_until: 0 }
  yield* createMany(
    subscriptions,
    uids.map((uid) => [subscription, { uid, now, columns }]),
  )
  yield* insertRows(
    'delivery_queues',
    ['subscription', 'parent', 'root', 'is_active', 'position', 'due_time', 'wants_handshake'],
    uids.map((uid) => [uid, parent, parent, 1, 0, now - 60_000, 0]),
  )
}

/** DNS answers. Other names have no address. */
const resolutions: Record<string, () => { address: string; family: number }[]> = {
  'private.test': () => [{ address: '10.1.2.3', family: 4 }],
  'metadata.test': () => [{ address: '169.254.169.254', family: 4 }],
  'loopback.test': () => [{ address: '127.0.0.1', family: 4 }],
  'mapped.test': () => [{ address: '::ffff:127.0.0.1', family: 6 }],
  localhost: () => [{ address: '127.0.0.1', family: 4 }],
}

/**
 * Verifies the signature, and that its timestamp is near `now`, the time of the server. The library
 * compares the timestamp with the real time, with a tolerance of five minutes.
 */
function verify(secret: string, body: string, headers: Record<string, string>, now: number): void {
  const isNear = Math.abs(Number(headers['webhook-timestamp']) * 1000 - now) < 120_000
  assert.ok(isNear, 'the timestamp is that of the attempt')
  new Webhook(secret).verify(body, headers)
}
