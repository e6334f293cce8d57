/** Time and randomness as stores need them. Tests pass their own. */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number
  /** At least 0 and less than 1. It varies the delay before a retry. */
  random(): number
  sleep(milliseconds: number): Promise<void>
  /** Blocks the thread. Stores do this only while they are opened, before anything is served. */
  block(milliseconds: number): void
}

export const systemClock: Clock = {
  now: Date.now,
  random: Math.random,
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  block(milliseconds) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
  },
}
