// The gRPC door, over the HTTP/2 connections that the listener passes to it. grpc-js manages the
// connections, and answers streaming calls and calls of the standard services.
import type { Duplex } from 'node:stream'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { DoorOptions, Endpoint } from '../door.ts'
import { defaultTimeoutsMs } from '../listen/timeouts.ts'
import { maxDurationOf } from '../timeout.ts'
import type { InterceptorOptions } from './interceptor.ts'
import { openInterceptor } from './interceptor.ts'
import { maxMessageBytes } from './request-bytes.ts'
import type { RequestLimitOptions } from './request-limits.ts'
import type { ServiceOptions } from './services.ts'
import { openRoutes } from './services.ts'
import type { SessionGuardOptions } from './session-guard.ts'
import { openStandardServices } from './standard-services.ts'
import { openStatusWriter } from './status.ts'

export type GrpcOptions<E extends Endpoint> = DoorOptions &
  Pick<ServiceOptions<E>, 'endpoints' | 'corridor' | 'streams' | 'vendorPrefixes' | 'now'> &
  Partial<Pick<InterceptorOptions, 'maxDuration'>> &
  RequestLimitOptions &
  Pick<InterceptorOptions, 'turns' | 'findCaller' | 'knownNetworks'> &
  SessionGuardOptions & {
    /** How long a stream may be without traffic before it is cancelled, in milliseconds. */
    streamIdleMs?: number
  }

export type GrpcDoor = {
  acceptSocket(socket: Duplex): void
  setServing(isServing: boolean): void
  /** Asks clients to disconnect and waits for the running calls. */
  drain(): Promise<void>
  destroy(): void
}

const serverOptions = {
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.enable_channelz': 0,
}

export function openGrpc<E extends Endpoint>(options: GrpcOptions<E>): GrpcDoor {
  const { endpoints, maxDuration = maxDurationOf, streamIdleMs = defaultTimeoutsMs.idle } = options
  const server = new Server(serverOptions)
  const statuses = openStatusWriter(options.errorDomain)
  const routes = openRoutes(server, { ...options, statuses })
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const services = [...new Set(endpoints.map(({ method }) => method.desc.parent))]
  const standardServices = openStandardServices(server, services)
  const interceptor = openInterceptor(server, {
    ...options,
    maxDuration,
    statuses,
    streamIdleMs,
    routeAt: (path) => routes.get(path),
    loadStandardService: standardServices.load,
  })
  return {
    acceptSocket: (socket) => injector.injectConnection(socket),
    setServing: standardServices.setServing,
    async drain() {
      interceptor.drain()
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()))
    },
    destroy() {
      interceptor.stop()
      injector.destroy()
      server.forceShutdown()
    },
  }
}
