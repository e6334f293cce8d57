// The type checker rejects a service with a missing method: each `@ts-expect-error` fails `npm run check` if the line
// under it compiles.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { PingService } from '@stemma/api/gen/platform/ping/v2beta1/ping_pb.ts'
import { emptyReply } from '../wire/reply.ts'
import { subscriptionsResource } from './events/subscriptions/resource.ts'
import { subscriptions } from './events/subscriptions/table.ts'
import { defineResource, defineService } from './resource.ts'

const ping = () => emptyReply

test('a service with all of its methods compiles', () => {
  const { methods } = defineService({ service: PingService, methods: () => ({ ping }) })
  assert.ok(methods)
})

test('a service without one of its methods does not compile', () => {
  // @ts-expect-error `ping` is missing
  assert.ok(defineService({ service: PingService, methods: () => ({}) }))
  const { methods } = subscriptionsResource
  const incomplete = {
    kind: subscriptions,
    service: SubscriptionsService,
    methods(deps: Parameters<typeof methods>[0]) {
      const { deleteSubscription: _, ...others } = methods(deps)
      return others
    },
  }
  // @ts-expect-error `deleteSubscription` is missing
  assert.ok(defineResource(incomplete))
})
