// Generates load over gRPC: repeats one request with grpc-js over a few connections.
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { onCommand } from './bench-process.mjs'
import { asIs } from './grpc-definition.ts'
import type { GrpcLoad, LoadResult } from './load.ts'

const channels = 4

onCommand(async (load: GrpcLoad): Promise<LoadResult> => {
  const clients = Array.from({ length: channels }, () => open(load.port))
  const started = performance.now()
  const until = started + load.seconds * 1000
  const counts = await Promise.all(
    Array.from({ length: load.inFlight }, (_, at) => repeat(clients[at % channels] as Client, load, until)), // the index is below the length
  )
  const seconds = (performance.now() - started) / 1000
  for (const client of clients) client.close()
  return { responseCount: counts.reduce((sum, count) => sum + count, 0), seconds }
})

const open = (port: number) =>
  new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 })

async function repeat(client: Client, load: GrpcLoad, until: number): Promise<number> {
  const request = Buffer.from(load.request, 'base64')
  const metadata = new Metadata()
  metadata.set('authorization', load.authorization)
  let responseCount = 0
  while (performance.now() < until) {
    await new Promise<void>((resolve, reject) => {
      client.makeUnaryRequest(load.path, asIs, asIs, request, metadata, (error) =>
        error ? reject(error) : resolve(),
      )
    })
    responseCount++
  }
  return responseCount
}
