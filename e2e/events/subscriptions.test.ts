// Subscriptions: where the events of a group are sent.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Subscriptions } from '@stemma/api/gen/platform/events/subscription_pb.ts'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { examples, make, violations } from '../contract/examples.ts'

const { createSubscription, deleteSubscription, getSubscription, listSubscriptions } =
  SubscriptionsService.method

const v1 = Subscriptions.method

const sink = 'https://hooks.test/stemma?key=1'

examples('subscriptions', {
  async 'are created, read, listed and deleted'(stage) {
    const { succeed, fail, owner } = stage
    const made = await succeed(createSubscription, { parent: owner.organization, subscription: { sink } })
    const uid = made.uid as string
    assert.ok(uid.startsWith(`${owner.organization}/`))
    assert.deepEqual(Object.keys(made).sort(), ['createTime', 'sink', 'uid', 'updateTime'])
    assert.equal(made.sink, sink)
    assert.deepEqual(await succeed(getSubscription, { uid }), made)
    const { subscriptions } = await succeed(listSubscriptions, { uidp: { childrenOf: owner.organization } })
    assert.deepEqual(subscriptions, [made])
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
