import { SubscriptionSchema } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { kindOf } from '../../kind.ts'

export const subscriptions = kindOf(SubscriptionSchema, 'subscriptions', {
  columns: { state: ({ state }) => state },
  /** The secrets are encrypted; empty if there is none. Events are signed with both until `previous_secret_until`. */
  extraColumns: { secret: 'text', previous_secret: 'text', previous_secret_until: 'integer' },
  hiddenFields: { secret: 'secret' },
})
