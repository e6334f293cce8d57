// gRPC over HTTP/2. Messages pass as bytes: requests are decoded after the caller is known, answers may come
// from a row as they are stored.
import type { Duplex } from 'node:stream'
import type { Message } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import type {
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  sendUnaryData,
  UntypedHandleCall,
} from '@grpc/grpc-js'
import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js'
import type { Method } from '@stemma/api/method.ts'
import { internal, malformed, StatusError } from '../aip/errors.ts'
import type { Corridor, Envelope } from '../wire/envelope.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen, recover } from '../wire/maybe-promise.ts'
import type { Reply } from '../wire/reply.ts'
import type { ClientAddress } from './client-address.ts'
import type { Endpoint, OnStray } from './door.ts'
import { longestOf } from './door.ts'
import { openGate } from './grpc-gate.ts'
import { statusBytes } from './grpc-status.ts'
import { usualLimits } from './listen.ts'
import { serviceNames } from './names.ts'
import type { Client, Streams } from './streams.ts'

export type GrpcOptions<E extends Endpoint> = {
  endpoints: readonly E[]
  corridor: Corridor<E>
  streams: Streams<E>
  /** How long a client may take nothing of a stream, in milliseconds. */
  stall?: number
  /** How long a call may take, in milliseconds. */
  longest?: (method: Method | undefined) => number
  errorDomain: string
  addressOf: ClientAddress
  onStray: OnStray
  /** What may stand before the name of a service. */
  vendorPrefixes: readonly string[]
}

export type GrpcDoor = {
  takeSocket(socket: Duplex): void
  setServing(isServing: boolean): void
  /** Tells clients to go and waits for the calls under way. */
  drain(): Promise<void>
  destroy(): void
}

const options = {
  'grpc.max_receive_message_length': 4 * 1024 * 1024,
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.enable_channelz': 0,
}

type BytesCall = ServerUnaryCall<Buffer, Uint8Array>
type StreamCall = ServerWritableStream<Buffer, Uint8Array>

export function openGrpc<E extends Endpoint>({
  endpoints,
  corridor,
  streams,
  stall = usualLimits.stall,
  longest = longestOf,
  errorDomain,
  addressOf,
  onStray,
  vendorPrefixes,
}: GrpcOptions<E>): GrpcDoor {
  const server = new Server(options)
  const byService = Map.groupBy(endpoints, ({ method }) => method.desc.parent)

  function answer(endpoint: E, call: BytesCall, callback: sendUnaryData<Uint8Array>): MaybePromise<void> {
    const read = () => decode(endpoint.method, call.request)
    return recover(
      () =>
        andThen(corridor(endpoint, envelopeOf(call, addressOf, longest(endpoint.method)), read), (reply) =>
          callback(null, reply.bytes(), trailerOf(reply)),
        ),
      (thrown) => callback(failureOf(thrown)),
    )
  }

  function stream(endpoint: E, call: StreamCall): void {
    const fail = (thrown: unknown) => void call.emit('error', failureOf(thrown))
    const client: Client = {
      open: () => true,
      write: (reply, onWritten) => void call.write(reply.bytes(), () => onWritten()),
      end: () => void call.end(),
      fail,
      onGone: (listener) => void call.once('cancelled', listener),
    }
    const read = () => decode(endpoint.method, call.request)
    const envelope = envelopeOf(call, addressOf, longest(endpoint.method))
    streams.run(client, endpoint, envelope, read).catch(fail)
  }

  function failureOf(thrown: unknown) {
    const error = thrown instanceof StatusError ? thrown : internal(thrown)
    const { message, bytes } = statusBytes(error, errorDomain)
    const metadata = new Metadata()
    metadata.set('grpc-status-details-bin', Buffer.from(bytes))
    return { code: error.code as number, details: message, metadata }
  }

  const methods = new Map<string, Method>()
  for (const [{ typeName }, members] of byService) {
    const handlers = members.map((endpoint): [string, UntypedHandleCall] => [
      endpoint.method.desc.name,
      endpoint.method.isStream
        ? (call: StreamCall) => stream(endpoint, call)
        : (call: BytesCall, callback: sendUnaryData<Uint8Array>) => void answer(endpoint, call, callback),
    ])
    for (const service of serviceNames(typeName, vendorPrefixes)) {
      const definitions = members.map(({ method }) => [method.desc.name, definitionOf(service, method)])
      server.addService(Object.fromEntries(definitions) as ServiceDefinition, Object.fromEntries(handlers))
      for (const { method } of members) methods.set(pathOf(service, method), method)
    }
  }
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const methodAt = (path: string) => methods.get(path)
  const gate = openGate(server, { errorDomain, onStray, stall, longest, methodAt, prepare })
  const services = [...byService.keys()]
  const loading = new Map<string, Promise<void>>()
  let isServing = true
  let tellHealth: ((isServing: boolean) => void) | undefined

  /** What comes with gRPC takes more memory than all else of it, so it is loaded for the first who asks. */
  const extras: Record<string, () => Promise<void>> = {
    async '/grpc.health.'() {
      const { addHealth } = await import('./health.ts')
      const names = services.map(({ typeName }) => typeName)
      tellHealth = addHealth(server, names)
      tellHealth(isServing)
    },
    async '/grpc.reflection.'() {
      const { addReflection } = await import('./reflection.ts')
      addReflection(server, services)
    },
  }

  function prepare(path: string): Promise<void> | undefined {
    const [name = '', load] = Object.entries(extras).find(([start]) => path.startsWith(start)) ?? []
    if (!load) return undefined
    const loaded = loading.get(name) ?? load()
    loading.set(name, loaded)
    // Whoever asks later tries again.
    loaded.catch(() => loading.delete(name))
    return loaded
  }

  return {
    takeSocket: (socket) => injector.injectConnection(socket),
    setServing(now) {
      isServing = now
      tellHealth?.(now)
    },
    async drain() {
      gate.drain()
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()))
    },
    destroy() {
      gate.stop()
      injector.destroy()
      server.forceShutdown()
    },
  }
}

const asIs = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const pathOf = (service: string, { desc }: Method) => `/${service}/${desc.name}`

function definitionOf(service: string, method: Method) {
  return {
    path: pathOf(service, method),
    originalName: method.desc.localName,
    requestStream: false,
    responseStream: method.isStream,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  }
}

function decode({ desc }: Method, bytes: Uint8Array): Message {
  try {
    // What the contract does not name is not kept: it would be stored unseen, and might mean something one day.
    return fromBinary(desc.input, bytes, { readUnknownFields: false })
  } catch {
    throw malformed(`the request is not a well-formed ${desc.input.typeName}`)
  }
}

function trailerOf({ etag }: Reply): Metadata | undefined {
  if (etag === undefined) return undefined
  const trailer = new Metadata()
  trailer.set('etag', etag)
  return trailer
}

/** The gate has set the id, and bounded the deadline if there is one. */
function envelopeOf(call: BytesCall | StreamCall, addressOf: ClientAddress, longest: number): Envelope {
  return {
    door: 'grpc',
    address: addressOf(call.getPeer().replace(/:\d+$/, ''), call.metadata.get('x-forwarded-for').join(',')),
    requestId: String(call.metadata.get('x-request-id')[0]),
    authorization: call.metadata.get('authorization')[0]?.toString(),
    timeout: Math.min(longest, Math.max(0, Number(call.getDeadline()) - Date.now())),
    ifMatch: call.metadata.get('if-match')[0]?.toString(),
  }
}
