// Limits the bytes of large responses that wait until their clients read them, for each caller and in total. Without a
// limit, a few clients that ask for long lists and do not read them would use up the memory.
import { tooManyRequests } from '../aip/errors.ts'

export type UnsentBudget = {
  /** Counts bytes for a caller until the returned function is called. Throws if there would be too many. */
  reserve(identity: string, bytes: number): () => void
}

const mebibyte = 1024 * 1024
/** Enough for a v1 list of maximal size and some smaller responses. */
const maxBytesPerCaller = 128 * mebibyte
const maxTotalBytes = 512 * mebibyte
const retryAfterSeconds = 5

export function openUnsentBudget(
  limits = { perCaller: maxBytesPerCaller, total: maxTotalBytes },
): UnsentBudget {
  const byCaller = new Map<string, number>()
  let total = 0

  function add(identity: string, bytes: number): void {
    const after = (byCaller.get(identity) ?? 0) + bytes
    total += bytes
    if (after === 0) byCaller.delete(identity)
    else byCaller.set(identity, after)
  }

  return {
    reserve(identity, bytes) {
      if ((byCaller.get(identity) ?? 0) + bytes > limits.perCaller)
        throw tooManyRequests(
          'too many of your responses wait to be read; read them first, or ask for smaller pages',
          retryAfterSeconds,
        )
      if (total + bytes > limits.total)
        throw tooManyRequests('too many responses wait to be read; try again later', retryAfterSeconds)
      add(identity, bytes)
      let isReleased = false
      return () => {
        if (isReleased) return
        isReleased = true
        add(identity, -bytes)
      }
    },
  }
}
