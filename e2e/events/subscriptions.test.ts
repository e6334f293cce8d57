// Subscriptions: where the events of a group are sent.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '@bufbuild/protobuf'
import { Subscriptions } from '@stemma/api/gen/platform/events/subscription_pb.ts'
import { DeliveriesService } from '@stemma/api/gen/platform/events/v2beta1/delivery_pb.ts'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { insertDeliveries, maxPendingDeliveries } from '../../server/store/delivery/deliveries.ts'
import { examples, make, violations } from '../contract/examples.ts'

const {
  createSubscription,
  deleteSubscription,
  getSubscription,
  listSubscriptions,
  replaySubscription,
  rotateSubscriptionSecret,
  testSubscription,
  updateSubscription,
} = SubscriptionsService.method
const { getDelivery, listDeliveries, redeliverEvent } = DeliveriesService.method

const v1 = Subscriptions.method

const sink = 'https://hooks.test/stemma?key=1'

examples('subscriptions', {
  async 'are created, read, listed and deleted'(stage) {
    const { succeed, fail, owner } = stage
    const made = await succeed(createSubscription, { parent: owner.organization, subscription: { sink } })
    const uid = made.uid as string
    assert.ok(uid.startsWith(`${owner.organization}/`))
    const { secret, ...stored } = made
    assert.match(secret as string, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(stored.sink, sink)
    assert.equal(stored.state, 'SUBSCRIPTION_STATE_ACTIVE')
    assert.equal(stored.contentMode, 'CONTENT_MODE_BINARY')
    const { handshake: _, ...read } = await succeed(getSubscription, { uid })
    assert.deepEqual({ ...read, handshake: stored.handshake }, stored, 'the secret is not shown again')
    const { subscriptions } = await succeed(listSubscriptions, { uidp: { childrenOf: owner.organization } })
    assert.equal(JSON.stringify(subscriptions).includes(secret as string), false)
    assert.deepEqual(
      (subscriptions as JsonObject[]).map((listed) => listed.uid),
      [uid],
    )
    assert.deepEqual(await succeed(deleteSubscription, { uid }), {})
    assert.equal((await fail(getSubscription, { uid })).code, 5)
    assert.equal((await fail(deleteSubscription, { uid })).code, 5)
  },

  async 'are listed in order, page by page'(stage) {
    const parent = stage.owner.organization
    const uids = []
    for (const _ of [1, 2, 3])
      uids.push(await make(stage, createSubscription, { parent, subscription: { sink } }))
    const request = { uidp: { descendantsOf: parent }, orderBy: 'uid desc', pageSize: 2 }
    const first = await stage.succeed(listSubscriptions, request)
    const second = await stage.succeed(listSubscriptions, {
      ...request,
      pageToken: first.nextPageToken ?? '',
    })
    const listed = [first, second].flatMap(({ subscriptions }) => subscriptions as JsonObject[])
    assert.deepEqual(
      listed.map(({ uid }) => uid),
      uids.sort().reverse(),
    )
    assert.equal(first.totalCount, '3')
  },

  async 'are changed by updates, which refuse values that cannot be set'({ succeed, fail, owner }) {
    const subscription = { sink, eventTypes: ['dev.stemma.api.iam.'], description: 'inventory' }
    const { uid } = await succeed(createSubscription, { parent: owner.organization, subscription })
    const change = { uid: uid as string, sink: 'https://hooks.test/new', state: 'SUBSCRIPTION_STATE_PAUSED' }
    const changed = await succeed(updateSubscription, { subscription: change })
    assert.equal(changed.sink, change.sink)
    assert.equal(changed.state, change.state)
    assert.deepEqual(changed.eventTypes, subscription.eventTypes)
    for (const [field, value] of [
      ['state', 'SUBSCRIPTION_STATE_DISABLED'],
      ['sink', 'http://hooks.test'],
      ['eventTypes', ['no spaces']],
      ['eventTypes', Array(51).fill('a.')],
      ['description', 'x'.repeat(1025)],
    ] as const) {
      const wrong = { uid: uid as string, [field]: value } as JsonObject
      const error = await fail(updateSubscription, { subscription: wrong })
      assert.equal(error.code, 3, field)
      assert.match(violations(error)[0] ?? '', new RegExp(`${field}(\\[0\\])?$`))
    }
  },

  async 'get a new secret by rotation, with an overlap of at most a week'({ succeed, fail, owner }) {
    const made = await succeed(createSubscription, { parent: owner.organization, subscription: { sink } })
    const uid = made.uid as string
    const rotated = await succeed(rotateSubscriptionSecret, { uid, overlap: '3600s' })
    assert.match(rotated.secret as string, /^whsec_/)
    assert.notEqual(rotated.secret, made.secret)
    assert.ok(rotated.previousSecretExpireTime)
    const atOnce = await succeed(rotateSubscriptionSecret, { uid, overlap: '0s' })
    assert.equal(atOnce.previousSecretExpireTime, undefined)
    for (const overlap of ['-1s', '604801s'])
      assert.deepEqual(violations(await fail(rotateSubscriptionSecret, { uid, overlap })), ['overlap'])
  },

  async 'have deliveries, which are listed page by page, read and sent again'(stage) {
    const { succeed, fail, owner } = stage
    const parent = owner.organization
    const uid = await make(stage, createSubscription, { parent, subscription: { sink } })
    const made: unknown[] = []
    for (const _ of [1, 2, 3]) made.unshift((await succeed(testSubscription, { uid })).uid)
    const first = await succeed(listDeliveries, { subscription: uid, pageSize: 2 })
    const pageToken = first.nextPageToken ?? ''
    const second = await succeed(listDeliveries, { subscription: uid, pageSize: 2, pageToken })
    assert.equal(second.nextPageToken, undefined)
    const listed = [first, second].flatMap(({ deliveries }) => deliveries as JsonObject[])
    assert.deepEqual(new Set(listed.map((delivery) => delivery.uid)), new Set(made))
    const { deliveries: failed } = await succeed(listDeliveries, {
      subscription: uid,
      state: 'DELIVERY_STATE_FAILED',
    })
    assert.deepEqual(failed, [])
    const delivery = made[0] as string
    assert.equal((await succeed(getDelivery, { uid: delivery })).uid, delivery)
    assert.equal((await succeed(redeliverEvent, { uid: delivery })).state, 'DELIVERY_STATE_PENDING')

    const other = `${parent}/0000000000000000`
    for (const [method, request] of [
      [listDeliveries, { subscription: other }],
      [testSubscription, { uid: other }],
      [rotateSubscriptionSecret, { uid: other }],
      [getDelivery, { uid: `${uid}/0000000000000000` }],
      [redeliverEvent, { uid: `${uid}/0000000000000000` }],
    ] as const)
      assert.equal((await fail(method, request)).code, 5, method.name)
    await succeed(deleteSubscription, { uid })
    assert.equal((await fail(getDelivery, { uid: delivery })).code, 5)
  },

  async 'get no test events while too many deliveries wait'(stage) {
    const { succeed, fail, owner, platform } = stage
    const uid = await make(stage, createSubscription, { parent: owner.organization, subscription: { sink } })
    await succeed(testSubscription, { uid })
    const waiting = Array.from({ length: maxPendingDeliveries - 1 }, (_, index) => ({
      uid: newChildUid(uid, index, randomBytes),
      ...{ subscription: uid, sequence: 0, eventId: String(index), eventType: 'x', subject: uid },
      testEvent: '{}',
    }))
    await platform.store.write(() => insertDeliveries(waiting, Date.now()))
    const { code, message } = await fail(testSubscription, { uid })
    assert.equal(code, 9)
    assert.match(message, /1000 deliveries of the subscription wait for their next attempt/)
  },

  async 'replay only the events of the last month'(stage) {
    const { succeed, fail, owner } = stage
    const uid = await make(stage, createSubscription, { parent: owner.organization, subscription: { sink } })
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    assert.deepEqual(await succeed(replaySubscription, { uid, since: daysAgo(30) }), {})
    for (const since of [daysAgo(32), daysAgo(-1), '0001-01-01T00:00:00Z'])
      assert.deepEqual(violations(await fail(replaySubscription, { uid, since })), ['since'])
  },

  async 'accept only https URLs without a password, of at most 2048 characters'({ fail, owner }) {
    const sinks = [
      '',
      'hooks.test',
      'http://hooks.test',
      'http://localhost:9000',
      'https://ada:secret@hooks.test',
    ]
    for (const invalid of [...sinks, `https://hooks.test/${'x'.repeat(2048)}`]) {
      const request = { parent: owner.organization, subscription: { sink: invalid } }
      const error = await fail(createSubscription, request)
      assert.equal(error.code, 3, invalid)
      assert.deepEqual(violations(error), ['sink'])
    }
  },
})

examples('subscriptions of v1', {
  async 'are the same resources as in v2'({ succeed, fail, owner, platform }) {
    const parentId = owner.organization
    const made = await succeed(v1.create, { parentId, subscription: { sink } })
    assert.deepEqual(Object.keys(made).sort(), ['id', 'sink'])
    const id = made.id as string
    assert.equal((await succeed(getSubscription, { uid: id })).sink, sink)
    assert.deepEqual(await succeed(v1.list, { id }), { items: [made] })
    assert.deepEqual(await succeed(v1.list, { uidp: { childrenOf: parentId } }), { items: [made] })
    const stranger = await platform.addIdentity('')
    assert.deepEqual(await succeed(v1.list, { id }, stranger.token), { items: [] })
    assert.deepEqual(await succeed(v1.delete, { id }), {})
    assert.deepEqual(await succeed(v1.list, { id }), { items: [] })
    assert.equal((await fail(v1.delete, { id })).code, 5)
  },

  async 'follow the rules of v2'({ fail, owner }) {
    const request = { parentId: owner.organization, subscription: { sink: 'http://hooks.test' } }
    assert.deepEqual(violations(await fail(v1.create, request)), ['sink'])
    assert.deepEqual(violations(await fail(v1.create, { subscription: { sink } })), ['parentId'])
    assert.deepEqual(violations(await fail(v1.list, { id: 'acme' })), ['id'])
  },
})
