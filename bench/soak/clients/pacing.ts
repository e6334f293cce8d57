// Sends calls at a fixed rate, whether or not earlier calls have been answered. A client that waited for its responses
// would send less while the server is slow, and so would not measure the slow calls (coordinated omission).
import { setTimeout as sleep } from 'node:timers/promises'

export type Clock = { now(): number; until(time: number): Promise<void> }

export const realClock: Clock = {
  now: () => performance.now(),
  /**
   * Timers are up to a millisecond late. Polling instead would take most of the CPU core that
   * clients and attackers share.
   */
  async until(time) {
    const waitMs = Math.ceil(time - performance.now())
    if (waitMs > 0) await sleep(waitMs)
  },
}

export type Schedule = { start: number; perSecond: number; isOver(): boolean }

/** Calls `send` with the intended time of each call. If the process was delayed, all overdue calls are sent at once. */
export async function pace(
  { start, perSecond, isOver }: Schedule,
  clock: Clock,
  send: (intended: number) => void,
): Promise<void> {
  for (let count = 0; ; count++) {
    const intended = start + (count * 1000) / perSecond
    await clock.until(intended)
    if (isOver()) return
    send(intended)
  }
}
