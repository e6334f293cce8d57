// Compares a gRPC call with a plain grpc-js server that sends the same bytes.
import { promisify } from 'node:util'
import { create, toBinary } from '@bufbuild/protobuf'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { GetGroupRequestSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { asIs } from '../load/grpc-definition.ts'
import type { GrpcLoad } from '../load/load.ts'
import { startBareServer, startProcess } from '../load/processes.ts'
import { ratioLine, seconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import { startBenchServer } from '../stores/bench-server.ts'

const minRatio = 0.6

export async function benchGrpc(): Promise<Line[]> {
  const bench = await startBenchServer(200)
  const { server, authorization, group } = bench
  const path = describeMethod(GroupsService.method.getGroup).grpcPath
  const request = toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid: group }))
  const task = {
    ...{ path, authorization, inFlight: 32, seconds },
    request: Buffer.from(request).toString('base64'),
  }
  const bytes = await answerOf(server.port, task)
  const bare = await startBareServer('bench/load/bare-grpc.ts', { path, bytes: bytes.toString('base64') })
  const load = startProcess('load-core', 'bench/load/grpc-load.ts')
  try {
    return [await ratioLine(`Get group, gRPC, ${bytes.length} B`, { load, server, bare, task }, minRatio)]
  } finally {
    await Promise.all([bare.stop(), load.stop()])
    await bench.end()
  }
}

async function answerOf(
  port: number,
  { path, request, authorization }: Omit<GrpcLoad, 'port'>,
): Promise<Buffer> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const metadata = new Metadata()
  metadata.set('authorization', authorization)
  const call = promisify(client.makeUnaryRequest<Buffer, Buffer>).bind(client) as unknown as (
    ...args: unknown[]
  ) => Promise<Buffer> // promisify uses the types of the last overload, which has other parameters
  const bytes = await call(path, asIs, asIs, Buffer.from(request, 'base64'), metadata)
  client.close()
  return bytes
}
