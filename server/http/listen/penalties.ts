// Slows down the networks of abusive connections: for a while, their new connections are served one after the other,
// with a pause before each. Connections that are open already are not slowed down.
import type { Socket } from 'node:net'
import { BoundedMap } from '../../bounded-map.ts'
import { networkOf } from '../../wire/client-network.ts'

export type Penalties = {
  /** Remembers the network of an abusive connection. */
  add(address: string | undefined): void
  /** Calls `start` when a new connection may be served: at once, unless its network has a penalty. */
  admit(socket: Socket, start: () => void): void
}

export type PenaltyOptions = {
  /** False for a proxy, because the connections of all its clients have its address. */
  mayPenalize(address: string): boolean
  /** How long a penalty lasts after the latest abuse, in milliseconds. */
  durationMs: number
  /** The pause between two new connections of one network, in milliseconds. */
  pauseMs: number
  now(): number
}

/** How many connections of a network may wait. Further ones are closed at once. */
const maxWaiting = 100
/** How many networks are remembered. */
const maxNetworks = 10_000

type Penalty = { until: number; waiting: (() => void)[]; timer: NodeJS.Timeout | undefined }

export function openPenalties({ mayPenalize, durationMs, pauseMs, now }: PenaltyOptions): Penalties {
  const penalties = new BoundedMap<string, Penalty>(maxNetworks)

  function startNext(penalty: Penalty): void {
    penalty.timer = undefined
    penalty.waiting.shift()?.()
    scheduleNext(penalty)
  }

  function scheduleNext(penalty: Penalty): void {
    if (penalty.waiting.length > 0) penalty.timer ??= setTimeout(() => startNext(penalty), pauseMs).unref()
  }

  return {
    add(address) {
      if (address === undefined || !mayPenalize(address)) return
      const penalty = penalties.getOrMake(networkOf(address), () => ({
        until: 0,
        waiting: [],
        timer: undefined,
      }))
      penalty.until = now() + durationMs
    },
    admit(socket, start) {
      const penalty = penalties.size === 0 ? undefined : penalties.get(networkOf(socket.remoteAddress ?? ''))
      if (!penalty || (penalty.until <= now() && penalty.waiting.length === 0)) {
        start()
        return
      }
      if (penalty.waiting.length >= maxWaiting) {
        socket.destroy()
        return
      }
      penalty.waiting.push(() => void (socket.destroyed || start()))
      scheduleNext(penalty)
    },
  }
}
