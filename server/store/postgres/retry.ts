// Repeats a failed transaction if that is safe.
import type { Clock } from '../clock.ts'
import { StoreError } from '../store-error.ts'
import { isConflict, isConnectionLost, translate } from './errors.ts'

const attemptLimit = 5

/** The attempt sets `isCommitting` before it commits. If the connection is lost after that, the outcome is unknown. */
export type AttemptState = { isCommitting: boolean }

export async function retry<T>(
  clock: Clock,
  deadline: number,
  attempt: (state: AttemptState) => Promise<T>,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    if (clock.now() > deadline) throw new StoreError('deadline')
    const state = { isCommitting: false }
    try {
      return await attempt(state)
    } catch (error) {
      if (attempts >= attemptLimit || !isRetryable(error, state, attempts)) throw translate(error)
      // Up to 20, 40, 80 and 160 ms. Random, so that transactions that conflicted do not start together again.
      await clock.sleep(clock.random() * 10 * 2 ** attempts)
    }
  }
}

function isRetryable(error: unknown, { isCommitting }: AttemptState, attempts: number): boolean {
  if (isConflict(error)) return true
  // Another transaction may have inserted the row after the work looked for it. The second attempt finds that row.
  if (error instanceof StoreError) return error.kind === 'unique' && attempts === 1
  return isConnectionLost(error) && !isCommitting
}
