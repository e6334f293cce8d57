import { SubscriptionSchema } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { kindOf } from '../../kind.ts'

export const subscriptions = kindOf(SubscriptionSchema, 'subscriptions')
