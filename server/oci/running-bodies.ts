// Limits how many bodies of uploads arrive at a time. Each takes memory, and if blobs are stored in S3, also disk space
// in the spool folder.
import { tooManyRequests } from '../aip/errors.ts'

/** 0 means no limit. */
export type MaxBodies = { caller: number; total: number }

export type RunningBodies = {
  /** Throws if too many are running. Returns a function that ends this one. */
  start(caller: string): () => void
}

const retrySeconds = 5

export function openRunningBodies({ caller: perCaller, total }: MaxBodies): RunningBodies {
  /** The number of running bodies by caller. Callers without any have no entry, so the map stays small. */
  const countByCaller = new Map<string, number>()
  let sum = 0
  return {
    start(caller) {
      const own = countByCaller.get(caller) ?? 0
      if (perCaller > 0 && own >= perCaller)
        throw tooManyRequests(
          `at most ${perCaller} of your uploads may arrive at a time; wait until one of them ends`,
          retrySeconds,
        )
      if (total > 0 && sum >= total)
        throw tooManyRequests('too many uploads are arriving; try again later', retrySeconds)
      countByCaller.set(caller, own + 1)
      sum++
      return () => {
        sum--
        const left = (countByCaller.get(caller) ?? 0) - 1
        if (left > 0) countByCaller.set(caller, left)
        else countByCaller.delete(caller)
      }
    },
  }
}
