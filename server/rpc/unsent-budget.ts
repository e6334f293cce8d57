// Limits the bytes of large responses that wait for their clients, for each caller and in total. Without a limit, a few
// clients that ask for long lists and do not read them would take all memory.
import { tooManyRequests } from '../aip/errors.ts'

export type UnsentBudget = {
  /** Counts bytes for a caller until the returned function is called. Throws if there would be too many. */
  reserve(identity: string, bytes: number): () => void
}

const mebibyte = 1024 * 1024
/** A caller can have one list of v1 of the maximal size, and some more. */
const maxPerCaller = 128 * mebibyte
const maxTotal = 512 * mebibyte
/** In seconds. */
const retryAfter = 5

export function openUnsentBudget(limits = { perCaller: maxPerCaller, total: maxTotal }): UnsentBudget {
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
        throw tooManyRequests('too many of your responses wait to be read; read them first', retryAfter)
      if (total + bytes > limits.total)
        throw tooManyRequests('too many responses wait to be read; try again later', retryAfter)
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
