/** Randomness is passed in, so that tests can be exact. */
export type RandomBytes = (size: number) => Buffer

const poolSize = 4096

/**
 * Gets random bytes from `random` in blocks of `poolSize`, because for a few bytes, the fixed cost of a call of
 * `random` is higher than the cost of generating the bytes. No byte is returned twice.
 */
export function pooled(random: RandomBytes): RandomBytes {
  let pool: Buffer = Buffer.alloc(0)
  let used = 0
  return (size) => {
    if (size > poolSize) return random(size)
    if (used + size > pool.length) {
      pool = random(poolSize)
      used = 0
    }
    used += size
    return pool.subarray(used - size, used)
  }
}
