import { openByNetwork } from '../../wire/by-network.ts'
import type { Networks } from '../../wire/client-network.ts'
import { networksOf } from '../../wire/client-network.ts'

export type ConcurrencyLimits = { maxRunning: number; maxWaiting: number; refusal: () => Error }

/** Runs the action of a client with this IP address, now or later. */
export type RunInTurn = <T>(address: string, action: () => Promise<T>) => Promise<T>

type WaitingAction = { networks: Networks; start(): void; refuse(error: Error): void }

/**
 * Runs at most `maxRunning` actions at a time. Up to `maxWaiting` further ones wait, and the networks of their clients
 * take turns. For each one beyond that, an action of the network with the most waiting actions is refused.
 */
export function limitConcurrency({ maxRunning, maxWaiting, refusal }: ConcurrencyLimits): RunInTurn {
  const waiting = openByNetwork<WaitingAction>()
  let runningCount = 0
  let waitingCount = 0

  async function wait(networks: Networks): Promise<void> {
    if (waitingCount < maxWaiting) waitingCount++
    else {
      // The new action takes the place of the replaced one, so `waitingCount` stays the same.
      const replaced = waiting.findReplaceable(networks)
      if (!replaced) throw refusal()
      waiting.remove(replaced)
      replaced.refuse(refusal())
    }
    await new Promise<void>((start, refuse) => waiting.add({ networks, start, refuse }))
  }

  function startNext(): void {
    const next = waiting.takeNext()
    // A waiting action takes the place of the one that has ended, so `runningCount` stays the same.
    if (next) waitingCount--
    else runningCount--
    next?.start()
  }

  return async (address, action) => {
    if (runningCount < maxRunning) runningCount++
    else await wait(networksOf(address))
    try {
      return await action()
    } finally {
      startNext()
    }
  }
}
