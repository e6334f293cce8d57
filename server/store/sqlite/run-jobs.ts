// Runs queued writes in the transaction that the queue has begun, and commits them together.
import type { Clock } from '../clock.ts'
import { insertSealed } from '../events/seal.ts'
import { StoreError } from '../store-error.ts'
import type { Work } from '../work.ts'
import type { Connection } from './connection.ts'
import { execute } from './connection.ts'
import { translate } from './errors.ts'
import { runWork } from './run-work.ts'

export type Job = {
  work: () => Work<unknown>
  /** Milliseconds since 1970. */
  deadline: number
  settle: (outcome: Outcome) => void
  /** Whether the work also writes on the connection itself, as migrations do. */
  writesDirectly: boolean
}

export type Outcome = { value: unknown } | { error: unknown }

const jobsPerCommit = 256
/** After this time no further job is added to a commit, so that reads are not delayed. */
const batchTimeMs = 20

/**
 * Runs the first jobs, as many as the time allows, with one commit, and returns their outcomes in order. If the commit
 * fails, its error is the outcome of every job. `begin` starts another transaction if the jobs must run a second time;
 * if it returns false, all jobs stay undone and the result is empty.
 */
export function runJobs(
  writer: Connection,
  jobs: readonly Job[],
  now: Clock['now'],
  begin: () => boolean,
): Outcome[] {
  const [job, ...others] = jobs
  return job && others.length === 0 ? [runSingleJob(writer, job)] : runSeveralJobs(writer, jobs, now, begin)
}

/** A single job needs no savepoint, which would make SQLite copy every page that the job changes. */
function runSingleJob(writer: Connection, job: Job): Outcome {
  let outcome: Outcome
  try {
    outcome = { value: runWork(writer, job.work()) }
  } catch (error) {
    outcome = { error: translate(error) }
  }
  try {
    if ('error' in outcome) rollback(writer)
    else if (writer.db.isTransaction) commit(writer)
  } catch (error) {
    rollback(writer)
    outcome = { error: new StoreError('unavailable', error) }
  }
  return outcome
}

/**
 * The jobs run without savepoints first. If one of them fails after it has written, all are undone and run again, each
 * in a savepoint.
 */
function runSeveralJobs(
  writer: Connection,
  jobs: readonly Job[],
  now: Clock['now'],
  begin: () => boolean,
): Outcome[] {
  let outcomes: Outcome[] = []
  try {
    const firstRun = runInTime(writer, jobs, now, runWithoutSavepoint)
    if (!firstRun) {
      rollback(writer)
      if (!begin()) return []
    }
    outcomes = firstRun ?? runInTime(writer, jobs, now, runInSavepoint) ?? []
    if (!writer.db.isTransaction) throw transactionEnded(outcomes.at(-1))
    commit(writer)
    return outcomes
  } catch (error) {
    rollback(writer)
    const failure = { error: new StoreError('unavailable', error) }
    return Array.from({ length: Math.max(1, outcomes.length) }, () => failure)
  }
}

/**
 * Inserts the events of all jobs and commits. The events are sealed at once, which is safe because
 * no other transaction can record events meanwhile. An event takes 22 µs of CPU time. Sealing it in
 * a second transaction would add an update and a sync. There must be a transaction: without one, each
 * statement of `insertSealed` would be committed by itself.
 */
function commit(writer: Connection): void {
  const events = writer.deferred.splice(0)
  if (events.length > 0) runWork(writer, insertSealed(events))
  execute(writer, 'commit')
}

/** Some errors, such as a full disk, end the whole transaction. No job runs after it, so the last outcome has the error. */
const transactionEnded = (last: Outcome | undefined) =>
  new Error('an error of a job has ended the transaction', {
    cause: last && 'error' in last ? last.error : undefined,
  })

function rollback(writer: Connection): void {
  writer.deferred.length = 0
  if (writer.db.isTransaction) execute(writer, 'rollback')
}

/** Runs as many jobs as the time allows, one at least. Undefined if `run` returned no outcome for one of them. */
function runInTime(
  writer: Connection,
  jobs: readonly Job[],
  now: Clock['now'],
  run: (writer: Connection, job: Job) => Outcome | undefined,
): Outcome[] | undefined {
  const until = now() + batchTimeMs
  const outcomes: Outcome[] = []
  for (const job of jobs.slice(0, jobsPerCommit)) {
    const outcome = run(writer, job)
    if (!outcome) return undefined
    outcomes.push(outcome)
    if (!writer.db.isTransaction || now() >= until) break
  }
  return outcomes
}

/**
 * Most jobs that fail do so before they write, because the caller lacks access. Undefined if the job fails after it has
 * written, or if the error has ended the transaction.
 */
function runWithoutSavepoint(writer: Connection, { work, writesDirectly }: Job): Outcome | undefined {
  const { length: eventCount } = writer.deferred
  let hasWritten = writesDirectly
  const onWrite = () => {
    hasWritten = true
  }
  try {
    return { value: runWork(writer, work(), { onWrite }) }
  } catch (error) {
    if (hasWritten || !writer.db.isTransaction) return undefined
    writer.deferred.length = eventCount
    return { error: translate(error) }
  }
}

function runInSavepoint(writer: Connection, { work }: Job): Outcome {
  const { length: eventCount } = writer.deferred
  execute(writer, 'savepoint job')
  try {
    const value = runWork(writer, work())
    execute(writer, 'release job')
    return { value }
  } catch (error) {
    writer.deferred.length = eventCount
    // After some errors, such as a full disk, SQLite has rolled back the whole transaction, including the savepoint.
    if (writer.db.isTransaction) {
      execute(writer, 'rollback to job')
      execute(writer, 'release job')
    }
    return { error: translate(error) }
  }
}
