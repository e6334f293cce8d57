// Limits how many bodies of uploads arrive at a time: each takes memory, and with S3 space in the spool folder.
import { tooManyRequests } from '../aip/errors.ts'

/** 0 for any number. */
export type MaxBodies = { caller: number; total: number }

export type RunningBodies = {
  /** Throws if too many are running. Returns a function that ends this one. */
  start(caller: string): () => void
}

const retrySeconds = 5

export function openRunningBodies({ caller: perCaller, total }: MaxBodies): RunningBodies {
  /** Callers without a running body are not in it, so it has at most as many entries as bodies are running. */
  const running = new Map<string, number>()
  let sum = 0
  return {
    start(caller) {
      const own = running.get(caller) ?? 0
      if (perCaller > 0 && own >= perCaller)
        throw tooManyRequests(
          `at most ${perCaller} of your uploads may arrive at a time; wait until one of them ends`,
          retrySeconds,
        )
      if (total > 0 && sum >= total)
        throw tooManyRequests('too many uploads are arriving; try again later', retrySeconds)
      running.set(caller, own + 1)
      sum++
      return () => {
        sum--
        const left = (running.get(caller) ?? 0) - 1
        if (left > 0) running.set(caller, left)
        else running.delete(caller)
      }
    },
  }
}
