// Where the events of a group are to be sent.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { examples, make, violations } from './examples.ts'

const { createSubscription, deleteSubscription, getSubscription, listSubscriptions } =
  SubscriptionsService.method

const sink = 'https://hooks.test/stemma?key=1'

examples('subscriptions', {
  async 'are made, read, listed and deleted'(stage) {
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

  async 'are listed in order, a page at a time'(stage) {
    const parent = stage.owner.organization
    const uids = []
    for (const _ of [1, 2, 3])
      uids.push(await make(stage, createSubscription, { parent, subscription: { sink } }))
    const asked = { uidp: { descendantsOf: parent }, orderBy: 'uid desc', pageSize: 2 }
    const page = await stage.succeed(listSubscriptions, asked)
    const rest = await stage.succeed(listSubscriptions, { ...asked, pageToken: page.nextPageToken ?? '' })
    const listed = [page, rest].flatMap((one) => one.subscriptions as JsonObject[])
    assert.deepEqual(
      listed.map(({ uid }) => uid),
      uids.sort().reverse(),
    )
    assert.equal(page.totalCount, '3')
  },

  async 'go to https URLs'({ fail, owner }) {
    const sinks = [
      '',
      'hooks.test',
      'http://hooks.test',
      'http://localhost:9000',
      'https://ada:secret@hooks.test',
    ]
    for (const one of [...sinks, `https://hooks.test/${'x'.repeat(2048)}`]) {
      const request = { parent: owner.organization, subscription: { sink: one } }
      const error = await fail(createSubscription, request)
      assert.equal(error.code, 3, one)
      assert.deepEqual(violations(error), ['sink'])
    }
  },
})
