// The baseline for gRPC: a grpc-js server that answers every call with the same bytes.
import { promisify } from 'node:util'
import type { sendUnaryData } from '@grpc/grpc-js'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { onCommand } from './bench-process.mjs'
import { grpcDefinition } from './grpc-definition.ts'

/** `bytes` are in base64. */
export type FixedGrpcResponse = { path: string; bytes: string }

onCommand(({ path, bytes }: FixedGrpcResponse) => {
  const reply = Buffer.from(bytes, 'base64')
  const server = new Server()
  server.addService(grpcDefinition(path), {
    call: (_: unknown, callback: sendUnaryData<Buffer>) => callback(null, reply),
  })
  return promisify(server.bindAsync.bind(server))('127.0.0.1:0', ServerCredentials.createInsecure())
})
