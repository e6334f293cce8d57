/** Randomness is passed in, so that tests can be exact. */
export type RandomBytes = (size: number) => Buffer

const poolSize = 4096

/**
 * Gets random bytes from `random` in blocks of `poolSize`, because calling `random` takes longer than generating a few
 * bytes. No byte is returned twice.
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
