// The gRPC door, opened by the first HTTP/2 connection: a server that is used only over REST never loads grpc-js and
// node:http2, which take 40 ms of CPU time and 4 MB.
import type { Duplex } from 'node:stream'
import { lazily } from '../../lazily.ts'
import type { Endpoint } from '../door.ts'
import type { GrpcDoor, GrpcOptions } from './server.ts'

export type OnDemandOptions = {
  /** Called if a connection is closed because the door cannot be opened. */
  onGrpcFailure(error: unknown): void
}

export const openGrpcOnDemand = <E extends Endpoint>(options: GrpcOptions<E> & OnDemandOptions): GrpcDoor =>
  openDoorOnDemand(async () => (await import('./server.ts')).openGrpc(options), options)

/** Calls `open` for the first connection, and again after a failure. */
export function openDoorOnDemand(
  open: () => Promise<GrpcDoor>,
  { onGrpcFailure }: OnDemandOptions,
): GrpcDoor {
  let door: GrpcDoor | undefined
  const state = { isServing: true, isDraining: false, isDestroyed: false }

  const start = lazily(async () => {
    door = await open()
    door.setServing(state.isServing)
    if (state.isDraining) void door.drain()
    if (state.isDestroyed) door.destroy()
    return door
  })

  async function acceptWhenOpen(socket: Duplex): Promise<void> {
    const { acceptSocket } = await start()
    if (!socket.destroyed && !state.isDestroyed) acceptSocket(socket)
  }

  return {
    acceptSocket(socket) {
      if (door) door.acceptSocket(socket)
      else
        acceptWhenOpen(socket).catch((error) => {
          onGrpcFailure(error)
          socket.destroy()
        })
    },
    setServing(isServing) {
      state.isServing = isServing
      door?.setServing(isServing)
    },
    async drain() {
      state.isDraining = true
      await door?.drain()
    },
    destroy() {
      state.isDestroyed = true
      door?.destroy()
    },
  }
}
