import type { DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import type { CallSource, GrpcCall } from './caller.ts'

const { getGroup, listGroups, createGroup } = GroupsService.method

function call<M extends DescMethodUnary>(
  method: M,
  request: MessageInitShape<M['input']>,
  authorization: string,
): { grpc: GrpcCall } {
  const bytes = toBinary<M['input']>(method.input, create<M['input']>(method.input, request))
  return {
    grpc: {
      path: describeMethod(method).grpcPath,
      request: Buffer.from(bytes).toString('base64'),
      authorization,
    },
  }
}

export const grpcCalls = {
  get: ({ group, authorization }) => call(getGroup, { uid: group }, authorization),
  list: ({ authorization }) => call(listGroups, { pageSize: 50 }, authorization),
  create: ({ organization, authorization }) =>
    call(createGroup, { parent: organization, group: { name: 'made-by-a-client' } }, authorization),
  exchange: ({ identity, authorization }) =>
    call(SecurityTokenService.method.exchange, { identity }, authorization),
} satisfies CallSource<{ grpc: GrpcCall }>
