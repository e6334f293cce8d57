// Ends calls that nobody waits for any more. One clock looks after all of them: a timer for each would cost more
// than the rest of the corridor.
import { deadlineExceeded } from '../aip/errors.ts'

const tick = 20

type Waiting = { deadline: number; giveUp(): void }

const waiting = new Set<Waiting>()
let clock: NodeJS.Timeout | undefined

/** What comes of it, or the news that it took too long, at most a tick late. */
export function inTime<T>(promise: Promise<T>, deadline: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const one: Waiting = { deadline, giveUp: () => reject(deadlineExceeded()) }
    waiting.add(one)
    clock ??= setInterval(look, tick).unref()
    promise.then(
      (value) => {
        waiting.delete(one)
        resolve(value)
      },
      (error: unknown) => {
        waiting.delete(one)
        reject(error)
      },
    )
  })
}

function look(): void {
  if (waiting.size === 0) {
    clearInterval(clock)
    clock = undefined
  }
  const now = Date.now()
  for (const one of waiting) {
    if (one.deadline > now) continue
    waiting.delete(one)
    one.giveUp()
  }
}
