// Slows down the networks of abusive connections: for a while, their new connections are served one after the other,
// with a pause before each. Each further abuse doubles the pause. Connections that are open already are not slowed down.
// If many networks of a wider network are abusive, the wider network is slowed down as a whole: otherwise an attacker with
// many addresses would use each of them once.
import type { Socket } from 'node:net'
import { BoundedMap } from '../../bounded-map.ts'
import { networksOf } from '../../wire/client-network.ts'

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
  /** The first pause between two new connections of one network, in milliseconds. */
  pauseMs: number
  now(): number
}

/** How many connections of a network may wait. Further ones are closed at once. */
const maxWaiting = 100
/**
 * How many times the pause of a network can double. A client in the network of an attacker waits
 * for one pause for each waiting connection of the attacker, so the pause must stay short.
 */
const maxDoublings = 4
/** How many networks are remembered. */
const maxNetworks = 10_000

/** A wide, middle or narrow network has a penalty once it contains this many abusive narrow networks. */
const minAbusive = [64, 8, 1] as const

type Penalty = {
  /**
   * How many narrow networks have become abusive. The count restarts if the network has no penalty
   * and no narrow network has become abusive for `durationMs`.
   */
  abusive: number
  /** When the latest of them became abusive, in milliseconds. */
  latest: number
  until: number
  /** How many times the pause has doubled. */
  doublings: number
  /** Functions that start the waiting connections, in the order in which they are called. */
  waiting: Set<() => void>
  timer: NodeJS.Timeout | undefined
}

const noPenalty = (): Penalty => ({
  abusive: 0,
  latest: Number.NEGATIVE_INFINITY,
  until: Number.NEGATIVE_INFINITY,
  doublings: 0,
  waiting: new Set(),
  timer: undefined,
})

export function openPenalties({ mayPenalize, durationMs, pauseMs, now }: PenaltyOptions): Penalties {
  const penalties = new BoundedMap<string, Penalty>(maxNetworks)

  function startNext(penalty: Penalty): void {
    penalty.timer = undefined
    const [start] = penalty.waiting
    if (!start) return
    penalty.waiting.delete(start)
    start()
    scheduleNext(penalty)
  }

  function scheduleNext(penalty: Penalty): void {
    if (penalty.waiting.size === 0) return
    penalty.timer ??= setTimeout(() => startNext(penalty), pauseMs * 2 ** penalty.doublings).unref()
  }

  const isActive = ({ until, waiting }: Penalty) => until > now() || waiting.size > 0

  /** The penalty of the widest network that has one. */
  function activePenaltyOf(address: string): Penalty | undefined {
    for (const network of networksOf(address)) {
      const penalty = penalties.get(network)
      if (penalty && isActive(penalty)) return penalty
    }
    return undefined
  }

  return {
    add(address) {
      if (address === undefined || !mayPenalize(address)) return
      const networks = networksOf(address)
      const time = now()
      const isFirstAbuse = (penalties.get(networks[2])?.until ?? time) <= time
      for (const [at, network] of networks.entries()) {
        const penalty = penalties.get(network) ?? noPenalty()
        // Makes an existing entry the newest: otherwise a wide network would be forgotten before the networks in it.
        penalties.set(network, penalty)
        if (time > Math.max(penalty.latest + durationMs, penalty.until)) penalty.abusive = 0
        if (isFirstAbuse) {
          penalty.abusive++
          penalty.latest = time
        }
        if (penalty.abusive < (minAbusive[at] ?? 1)) continue
        penalty.doublings = penalty.until > time ? Math.min(penalty.doublings + 1, maxDoublings) : 0
        penalty.until = time + durationMs
      }
    },
    admit(socket, start) {
      const penalty = penalties.size === 0 ? undefined : activePenaltyOf(socket.remoteAddress ?? '')
      if (!penalty) {
        start()
        return
      }
      if (penalty.waiting.size >= maxWaiting) {
        socket.destroy()
        return
      }
      // A connection that is closed while it waits leaves the queue. The timer goes on, so closing connections does not
      // shorten the pause between two starts.
      const leave = () => void penalty.waiting.delete(startWaiting)
      const startWaiting = () => {
        socket.off('close', leave)
        if (!socket.destroyed) start()
      }
      socket.on('close', leave)
      penalty.waiting.add(startWaiting)
      scheduleNext(penalty)
    },
  }
}
