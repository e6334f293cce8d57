// Compares a gRPC call with a plain grpc-js server that sends the same bytes.
import { promisify } from 'node:util'
import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { describeMethod } from '@stemma/api/method.ts'
import { asIs } from '../load/grpc-definition.ts'
import type { GrpcLoad } from '../load/load.ts'
import { startBareServer, startProcess } from '../load/processes.ts'
import { ratioLine, seconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'

type GrpcTask = Omit<GrpcLoad, 'port'>

export const grpcTask = <I extends DescMessage>(
  method: DescMethodUnary<I>,
  request: MessageInitShape<I>,
  authorization: string,
): GrpcTask => ({
  ...{ path: describeMethod(method).grpcPath, authorization, inFlight: 32, seconds },
  request: Buffer.from(toBinary(method.input, create(method.input, request))).toString('base64'),
})

/** Without `minRatio`, the line has no goal. */
export async function compareWithBareGrpc(
  label: string,
  { server }: Pick<BenchServer, 'server'>,
  task: GrpcTask,
  minRatio?: number,
): Promise<Line> {
  const bytes = await responseOf(server.port, task)
  const response = { path: task.path, bytes: bytes.toString('base64') }
  const bare = await startBareServer('bench/load/bare-grpc.ts', response)
  const load = startProcess('load-core', 'bench/load/grpc-load.ts')
  try {
    return await ratioLine(`${label}, ${bytes.length} B`, { load, server, bare, task }, minRatio)
  } finally {
    await Promise.all([bare.stop(), load.stop()])
  }
}

async function responseOf(port: number, { path, request, authorization }: GrpcTask): Promise<Buffer> {
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
