// The process of the well-behaved clients.
import { onCommand } from '../../load/bench-process.mjs'
import type { Caller, OpenCaller } from './caller.ts'
import { openCaller } from './caller.ts'
import type { Summary } from './outcomes.ts'
import { openOutcomes, percentile } from './outcomes.ts'
import { pace, realClock } from './pacing.ts'

export type ClientCommand = { start: { port: number; callers: Caller[] } } | 'progress' | 'finish'
/**
 * Covers the time since the previous `progress` command. `calls` is the number of successful calls,
 * and `p99` their latency in milliseconds.
 */
export type ClientProgress = { calls: number; errors: number; p99: number }
export type ClientResult = Record<string, Summary>

/** A server that answers nothing must not fill the memory of its clients. */
const maxWaitingCalls = 2000

type Run = { progress(): ClientProgress; finish(): Promise<ClientResult> }
let run: Run | undefined

onCommand((command: ClientCommand) => {
  if (command === 'progress') return run?.progress()
  if (command === 'finish') return run?.finish()
  run = startRun(command.start.port, command.start.callers)
  return 'started'
})

function startRun(port: number, callers: Caller[]): Run {
  let isOver = false
  const start = performance.now()
  const clients = callers.map((caller, at) => {
    const client = startClient(openCaller(port, caller), caller.perSecond, {
      // Clients do not send at the same moments.
      start: start + (at * 1000) / caller.perSecond / callers.length,
      isOver: () => isOver,
    })
    return { name: caller.name, ...client }
  })
  let previousErrors = 0
  return {
    progress() {
      const errors = clients.reduce((sum, { outcomes }) => sum + outcomes.errorCount(), 0)
      const recent = clients.flatMap((client) => client.recentLatencies()).sort((a, b) => a - b)
      const progress = {
        calls: recent.length,
        errors: errors - previousErrors,
        p99: percentile(recent, 0.99),
      }
      previousErrors = errors
      return progress
    },
    async finish() {
      isOver = true
      await Promise.all(clients.map(({ ended }) => ended))
      return Object.fromEntries(clients.map(({ name, outcomes }) => [name, outcomes.summary()]))
    },
  }
}

function startClient(
  caller: OpenCaller,
  perSecond: number,
  { start, isOver }: { start: number; isOver(): boolean },
) {
  const outcomes = openOutcomes()
  const waiting = new Set<Promise<void>>()
  let reported = 0
  const send = (intended: number) => {
    outcomes.onSend(performance.now() - intended)
    if (waiting.size >= maxWaitingCalls) return outcomes.onError('not sent: too many calls are waiting')
    const call = caller.send().then(
      () => outcomes.onSuccess(performance.now() - intended),
      (error: Error) => outcomes.onError(error.message),
    )
    waiting.add(call)
    void call.then(() => waiting.delete(call))
  }
  const ended = pace({ start, perSecond, isOver }, realClock, send).then(async () => {
    await Promise.all(waiting)
    caller.close()
  })
  return {
    ...{ outcomes, ended },
    recentLatencies() {
      const recent = outcomes.latencies.slice(reported)
      reported = outcomes.latencies.length
      return recent
    },
  }
}
