// Limits the text that one request compares. A comparison takes little time, but a request can ask for millions of them,
// and no other call is answered meanwhile.
import { badRequest } from './errors.ts'

export type Budget = {
  /** Throws if the request has compared too much. */
  spend(characters: number): void
  /** Lets other calls be answered, if much was compared since the last time. */
  yieldIfDue(): Promise<void>
}

/** Comparing this many takes about 10 milliseconds. */
const charactersPerTurn = 1_000_000

/** `advice` ends the error message. */
export function openBudget(max: number, advice: string): Budget {
  let [spent, yieldedAt] = [0, 0]
  return {
    spend(characters) {
      spent += characters
      if (spent > max)
        throw badRequest('tooMany', `the request would compare more than ${max} characters; ${advice}`)
    },
    async yieldIfDue() {
      if (spent - yieldedAt < charactersPerTurn) return
      yieldedAt = spent
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}
