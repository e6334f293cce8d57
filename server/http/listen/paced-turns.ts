// Shares each turn of the event loop between the connections that pipeline requests and all others: the requests that
// wait in pipelines run one after the other, for a limited time in each turn. Otherwise a few hundred connections that
// pipeline would make each turn so long that a new connection, which is accepted in one turn and read in a later one,
// waits for seconds.

export type PacedTurns = {
  /** Calls `resume` later, after the functions that were added before it. */
  add(resume: () => void): void
}

/** In milliseconds. */
const timePerTurn = 0.5

/** `clock` is monotonic, in milliseconds. */
export function openPacedTurns(clock: () => number): PacedTurns {
  const waiting: (() => void)[] = []
  let isScheduled = false

  function schedule(): void {
    isScheduled = true
    setImmediate(() => resumeNext(clock() + timePerTurn))
  }

  function resumeNext(end: number): void {
    const resume = waiting.shift()
    if (!resume) {
      isScheduled = false
      return
    }
    resume()
    // A resumed socket reads and parses its request in the next tick, before this callback runs.
    process.nextTick(() => (clock() < end ? resumeNext(end) : schedule()))
  }

  return {
    add(resume) {
      waiting.push(resume)
      if (!isScheduled) schedule()
    },
  }
}
