// Checks of text from callers. Their time can grow faster than the length of the text, so threads perform them
// (checks-thread.ts).
import { availableParallelism } from 'node:os'
import { tooManyRequests, unavailable } from './aip/errors.ts'
import { rootOf } from './aip/uid.ts'
import type { MatchTask, RunMatch } from './claims/matcher.ts'
import type { PatternToCheck, PatternVerdict } from './claims/pattern-rule.ts'
import type { TrustTask } from './claims/trust.ts'
import { threadProgram } from './package-files.ts'
import type { ChartContent, Checks, Sbom } from './resources/dependencies.ts'
import type { ChartTask } from './resources/registry/content/images/read-chart.ts'
import type { SbomTask } from './resources/registry/content/images/read-sbom.ts'
import { LimitError } from './threads/limit-error.ts'
import type { Pool, PoolOptions } from './threads/pool.ts'
import { openPool } from './threads/pool.ts'

export type CheckTask =
  | { kind: 'readme'; content: string }
  | { kind: 'patterns'; patterns: readonly PatternToCheck[] }
  | MatchTask
  | TrustTask
  | SbomTask
  | ChartTask

/** The answer of a thread: the result of a check, or the stack of an unexpected error. */
export type CheckAnswer = { result: unknown } | { error: string }

/**
 * Two threads, if there are cores for both and for the event loop: while a costly task occupies
 * one thread, the other performs the remaining tasks. With fewer cores, a second thread would only
 * take memory. The time limit is far above the time that any valid input needs (a readme of 64 KB:
 * 0.4 s).
 */
const limits: PoolOptions = {
  program: threadProgram('checks-thread'),
  maxThreads: availableParallelism() > 2 ? 2 : 1,
  maxWaiting: 64,
  maxPerOwner: 4,
  timeLimitMs: 10_000,
  maxHeapMb: 80,
  idleMs: 60_000,
}

export function openChecks(
  overrides: Partial<PoolOptions> = {},
): Checks & { match: RunMatch; close(): Promise<void> } {
  const checkPool = openPool({ ...limits, ...overrides })
  // Matching a token needs no authorization. With a pool of its own, it cannot fill the queue of
  // the checks that authorized callers need.
  const matchPool = openPool({ ...limits, ...overrides })

  /** Undefined if the task exceeded its limit of time or memory. */
  async function run(pool: Pool, task: CheckTask, owner: string): Promise<{ result: unknown } | undefined> {
    try {
      const answer = (await pool.run(task, owner)) as CheckAnswer // checks-thread.ts sends nothing else
      if ('error' in answer) throw new Error(`a check failed: ${answer.error}`)
      return answer
    } catch (error) {
      if (error instanceof LimitError) return throwIfRefused(error)
      throw error
    }
  }

  return {
    async readmeFault(content, caller) {
      const answer = await run(checkPool, { kind: 'readme', content }, caller)
      return answer ? (answer.result as string | undefined) : 'is too complex to be checked; make it simpler'
    },
    async judgePatterns(patterns, caller) {
      const answer = await run(checkPool, { kind: 'patterns', patterns }, caller)
      return answer
        ? (answer.result as PatternVerdict[])
        : patterns.map(() => ({ fault: 'is too complex; make it simpler', isUnrestricted: false }))
    },
    async trust(task, caller) {
      const answer = await run(checkPool, { kind: 'trust', ...task }, caller)
      return answer?.result as boolean[] | undefined // the result of performTrustCheck
    },
    async readSbom(content, wanted, caller) {
      const answer = await run(checkPool, { kind: 'sbom', content, wanted }, caller)
      return answer?.result as Sbom | undefined // the result of readSbom
    },
    async readChart(config, archive, caller) {
      const answer = await run(checkPool, { kind: 'chart', config, archive }, caller)
      return answer?.result as ChartContent | undefined // the result of readChart
    },
    async match(task, identityUid) {
      const answer = await run(matchPool, task, rootOf(identityUid))
      if (!answer)
        throw tooManyRequests('the patterns of this identity take too long to match; simplify them')
      return answer.result
    },
    async close() {
      await Promise.all([checkPool.close(), matchPool.close()])
    },
  }
}

/** Throws unless the task was started and exceeded its limit of time or memory. */
function throwIfRefused({ reason }: LimitError): undefined {
  if (reason === 'too-many')
    throw tooManyRequests('too many texts are being checked; try again in a second', 1)
  if (reason === 'closed') throw unavailable('the server is stopping')
}
