// Pseudo-random choices that depend only on a seed, for tests that make more choices than
// fast-check can draw in a short time.

export type Draw = {
  one<T>(from: readonly T[]): T
  /** True once in `n` draws on average. */
  oneIn(n: number): boolean
}

/** The generator is mulberry32. */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    one: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number], // the index is below the length
    oneIn: (n) => next() * n < 1,
  }
}
