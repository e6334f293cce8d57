/** `cost`: the task exceeded its time or memory limit. `queue`: too many tasks wait. `closed`: the pool is closed. */
export class LimitError extends Error {
  readonly reason: 'cost' | 'queue' | 'closed'

  constructor(reason: LimitError['reason']) {
    super(`a task for a thread was not completed: ${reason}`)
    this.reason = reason
  }
}
