// REST, gRPC and all other paths behind one listener.
import type { DispatchOptions } from './dispatch.ts'
import { dispatch } from './dispatch.ts'
import type { DoorOptions, Endpoint } from './door.ts'
import type { GrpcOptions } from './grpc/server.ts'
import { openGrpc } from './grpc/server.ts'
import type { ListenOptions } from './listen/listen.ts'
import { listen } from './listen/listen.ts'
import type { RestOptions } from './rest/rest.ts'
import { openRest } from './rest/rest.ts'

export type DoorsOptions<E extends Endpoint> = DoorOptions &
  Omit<RestOptions<E>, 'isTls'> &
  GrpcOptions<E> &
  Pick<ListenOptions, 'port' | 'hosts' | 'tls' | 'limits'> &
  Pick<DispatchOptions, 'plainPaths' | 'mount'>

export type Doors = {
  port: number
  /** Sets the health that load balancers read over gRPC. */
  setServing(isServing: boolean): void
  /** Accepts no new connections; resolves when the running calls have ended. */
  drain(): Promise<void>
  destroy(): void
}

export async function openDoors<E extends Endpoint>(options: DoorsOptions<E>): Promise<Doors> {
  const grpc = openGrpc(options)
  const rest = openRest({ ...options, isTls: options.tls !== undefined })
  const onRequest = dispatch({ ...options, rest })
  const listener = await listen({ ...options, onRequest, onHttp2: grpc.acceptSocket })
  return {
    port: listener.port,
    setServing: grpc.setServing,
    async drain() {
      await Promise.all([listener.drain(), grpc.drain()])
    },
    destroy() {
      grpc.destroy()
      listener.destroy()
    },
  }
}
