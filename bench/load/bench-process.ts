// Preloaded into the processes that `startProcess` starts: receives commands over IPC, reports CPU
// time and memory, and ends the process when its parent ends.
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** CPU time in seconds and resident memory in bytes. */
export type Usage = { cpu: number; memory: number }
/** Delays of the event loop since the previous `loop-delay` message, in milliseconds. */
export type LoopDelay = { p50: number; p99: number; max: number }

const delayResolutionMs = 5
/**
 * Monitors the event loop of the main thread. Created by the first `loop-delay` message, so that
 * other benchmarks do not pay for it.
 */
let delays: ReturnType<typeof monitorEventLoopDelay> | undefined

/** Commands that arrived before the program called `onCommand`. */
const earlyCommands: unknown[] = []
let handle: ((command: unknown) => void) | undefined

process.on('message', (message) => {
  if (message === 'usage') process.send?.(usage())
  else if (message === 'loop-delay') process.send?.(takeLoopDelay())
  else if (handle) handle(message)
  else earlyCommands.push(message)
})
process.on('disconnect', () => process.exit(1))
// The IPC channel must not keep the program alive.
process.channel?.unref()

/** Answers each command with the result of `run`, and keeps the process alive. */
export function onCommand<T>(run: (command: T) => unknown): void {
  handle = async (command) => process.send?.(await run(command as T)) // the parent sends what this program expects
  for (const command of earlyCommands.splice(0)) handle(command)
  process.channel?.ref()
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  return { cpu: (user + system) / 1e6, memory: process.memoryUsage.rss() }
}

function takeLoopDelay(): LoopDelay {
  if (!delays) {
    delays = monitorEventLoopDelay({ resolution: delayResolutionMs })
    delays.enable()
  }
  // The histogram has the times between two samples, in nanoseconds.
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - delayResolutionMs)
  const delay = { p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), max: late(delays.max) }
  delays.reset()
  return delay
}
