// Opens REST, gRPC, the mounts (such as sign-in) and the plain paths (plain-paths.ts) behind one listener.
import type { DispatchOptions } from './dispatch.ts'
import { dispatch } from './dispatch.ts'
import type { DoorOptions, Endpoint } from './door.ts'
import type { OnDemandOptions } from './grpc/on-demand.ts'
import { openGrpcOnDemand } from './grpc/on-demand.ts'
import type { GrpcOptions } from './grpc/server.ts'
import type { ListenOptions } from './listen/listen.ts'
import { listen } from './listen/listen.ts'
import { openPenalties } from './listen/penalties.ts'
import { defaultTimeoutsMs } from './listen/timeouts.ts'
import type { RestOptions } from './rest/rest.ts'
import { openRest } from './rest/rest.ts'
import { answerInTurn } from './turns/answer-in-turn.ts'
import type { RunFor } from './turns/known-party.ts'
import { callsWithParty, turnsWithParty } from './turns/known-party.ts'

export type DoorsOptions<E extends Endpoint> = DoorOptions &
  RestOptions<E> &
  Omit<GrpcOptions<E>, 'onAbuse'> &
  OnDemandOptions &
  Pick<ListenOptions, 'port' | 'sharesPort' | 'hosts' | 'tls' | 'timeoutsMs' | 'maxConnections' | 'clock'> &
  Pick<DispatchOptions, 'plainPaths' | 'mounts'> & {
    /** If set, the code that performs a call runs for the party of the call. */
    runFor?: RunFor | undefined
  }

export type Doors = {
  port: number
  /** Sets the health that load balancers read over gRPC. */
  setServing(isServing: boolean): void
  /** Accepts no new connections; resolves when the running calls have ended. */
  drain(): Promise<void>
  destroy(): void
}

export async function openDoors<E extends Endpoint>(options: DoorsOptions<E>): Promise<Doors> {
  const { penalty, penaltyPause } = { ...defaultTimeoutsMs, ...options.timeoutsMs }
  const penalties = openPenalties({
    mayPenalize: (address) => !options.isProxy(address),
    ...{ durationMs: penalty, pauseMs: penaltyPause, now: options.now },
  })
  const { runFor, turns } = options
  const grpc = openGrpcOnDemand({
    ...{ ...options, onAbuse: penalties.add },
    ...(runFor && callsWithParty(options, runFor)),
  })
  const rest = openRest(options)
  const onRequest = answerInTurn(
    runFor ? turnsWithParty(turns, runFor) : turns,
    options,
    dispatch({ ...options, rest }),
  )
  const listener = await listen({ ...options, penalties, onRequest, onHttp2: grpc.acceptSocket })
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
