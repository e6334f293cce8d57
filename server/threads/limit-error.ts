/**
 * `exceeded`: the task exceeded its time or memory limit. `too-many`: too many tasks wait, in total or of one owner.
 * `closed`: the pool is closed.
 */
export class LimitError extends Error {
  readonly reason: 'exceeded' | 'too-many' | 'closed'

  constructor(reason: LimitError['reason']) {
    super(`a task for a thread was not completed: ${reason}`)
    this.reason = reason
  }
}
