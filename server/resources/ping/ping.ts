import { create } from '@bufbuild/protobuf'
import { PingService as PingServiceV1, ResponseSchema } from '@stemma/api/gen/platform/ping/ping_pb.ts'
import { PingResponseSchema, PingService } from '@stemma/api/gen/platform/ping/v2beta1/ping_pb.ts'
import { messageReply } from '../../wire/reply.ts'
import { defineService } from '../resource.ts'

const response = 'pong'

export const pingService = defineService({
  service: PingService,
  methods: () => ({
    ping: async () => messageReply(PingResponseSchema, create(PingResponseSchema, { response })),
  }),
})

export const pingServiceV1 = defineService({
  service: PingServiceV1,
  methods: () => ({
    ping: async () => messageReply(ResponseSchema, create(ResponseSchema, { response })),
  }),
})
