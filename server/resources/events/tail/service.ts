import type { TailEventsRequest } from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import { EventsService } from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import { defineService } from '../../resource.ts'
import type { TailDependencies } from './tail-events.ts'
import { tailEvents } from './tail-events.ts'

export const eventsService = defineService({
  service: EventsService,
  methods: (deps: TailDependencies) => ({
    tailEvents: (call: Call<TailEventsRequest>) => tailEvents(deps, call),
  }),
})
