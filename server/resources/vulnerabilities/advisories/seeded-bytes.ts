import { hash } from 'node:crypto'
import type { RandomBytes } from '../../../crypto/random.ts'

/** Pseudorandom bytes that depend only on the seed. */
export function seededBytes(seed: string): RandomBytes {
  let blocks = 0
  let unused = Buffer.alloc(0)
  return (size) => {
    while (unused.length < size)
      unused = Buffer.concat([unused, hash('sha256', `${seed}\0${blocks++}`, 'buffer')])
    const bytes = unused.subarray(0, size)
    unused = unused.subarray(size)
    return bytes
  }
}
