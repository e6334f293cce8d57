// Clients that follow a stream of events over each door.
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import type { JsonObject } from '@bufbuild/protobuf'
import { fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import type { TailEventsResponse } from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import {
  EventsService,
  TailEventsRequestSchema,
  TailEventsResponseSchema,
} from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'

export type Followed = {
  /** The next response; undefined at the end of the stream. */
  next(): Promise<JsonObject | undefined>
  /** `complete`, or how the stream failed: the gRPC or HTTP status, or `reset` over REST. */
  ended: Promise<string>
  disconnect(): void
}

export type Follow = (url: string, query: JsonObject, token: string) => Followed

const { grpcPath } = describeMethod(EventsService.method.tailEvents)

export const followOverRest: Follow = (url, query, token) => {
  const parameters = new URLSearchParams(query as Record<string, string>)
  const sent = request(`${url}/events/v2beta1/events:tail?${parameters}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const queue = openQueue()
  const ended = new Promise<string>((resolve) => {
    sent.on('error', () => resolve('reset'))
    sent.on('response', (response: IncomingMessage) => {
      if (response.statusCode !== 200) return resolve(String(response.statusCode))
      createInterface({ input: response })
        .on('line', (line) => queue.add(JSON.parse(line) as JsonObject))
        .on('error', () => {}) // an error of the response, which is handled below
      response.on('end', () => resolve('complete'))
      response.on('error', () => resolve('reset'))
    })
  })
  sent.end()
  void ended.then(queue.close)
  // After an ordinary close, the server would learn that the client is gone only by sending something.
  return { next: queue.next, ended, disconnect: () => void sent.socket?.resetAndDestroy() }
}

export const followOverGrpc: Follow = (url, query, token) => {
  const client = new Client(new URL(url).host, credentials.createInsecure())
  const metadata = new Metadata()
  metadata.set('authorization', `Bearer ${token}`)
  const call = client.makeServerStreamRequest(
    grpcPath,
    (message: JsonObject) =>
      Buffer.from(toBinary(TailEventsRequestSchema, fromJson(TailEventsRequestSchema, message))),
    (bytes) => fromBinary(TailEventsResponseSchema, bytes),
    query,
    metadata,
  )
  const queue = openQueue()
  call.on('data', (message: TailEventsResponse) =>
    queue.add(toJson(TailEventsResponseSchema, message) as JsonObject),
  )
  call.on('error', () => {})
  const ended = new Promise<string>((resolve) => {
    call.on('status', ({ code }: { code: number }) => resolve(code === 0 ? 'complete' : String(code)))
  })
  void ended.then(() => {
    queue.close()
    client.close()
  })
  return { next: queue.next, ended, disconnect: () => call.cancel() }
}

function openQueue() {
  const arrived: (JsonObject | undefined)[] = []
  const waiting: ((value: JsonObject | undefined) => void)[] = []
  const push = (value: JsonObject | undefined) => {
    const resolve = waiting.shift()
    if (resolve) resolve(value)
    else arrived.push(value)
  }
  return {
    add: push,
    close: () => push(undefined),
    next: () =>
      arrived.length > 0
        ? Promise.resolve(arrived.shift())
        : new Promise<JsonObject | undefined>((resolve) => waiting.push(resolve)),
  }
}
