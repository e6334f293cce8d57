import { create } from '@bufbuild/protobuf'
import { ResponseSchema } from '@stemma/api/gen/platform/ping/ping_pb.ts'
import { PingResponseSchema } from '@stemma/api/gen/platform/ping/v2beta1/ping_pb.ts'
import { messageReply } from '../../wire/reply.ts'

const response = 'pong'

export const pingService = {
  ping: async () => messageReply(PingResponseSchema, create(PingResponseSchema, { response })),
}

export const pingOfV1 = {
  ping: async () => messageReply(ResponseSchema, create(ResponseSchema, { response })),
}
