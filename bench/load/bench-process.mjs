// Preloaded into the processes that `startProcess` starts: receives commands over IPC, reports CPU
// time and memory, and ends the process when its parent ends.
// Plain JavaScript: after Node has stripped types from any file, `process.nextTick` takes 0.5 µs in place of
// 0.05, and a List of 50 takes 5 to 10 percent longer than under `npm start`, which runs no TypeScript.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delayResolutionMs = 5
/**
 * Monitors the event loop of the main thread. Created by the first `loop-delay` message, so that
 * other benchmarks do not pay for it.
 */
let delays

/** Commands that arrived before the program called `onCommand`. */
const earlyCommands = []
let handle

process.on('message', (message) => {
  if (message === 'usage') process.send?.(usage())
  else if (message === 'loop-delay') process.send?.(takeLoopDelay())
  else if (handle) handle(message)
  else earlyCommands.push(message)
})
process.on('disconnect', () => process.exit(1))
// The IPC channel must not keep the program alive.
process.channel?.unref()

export function onCommand(run) {
  handle = async (command) => process.send?.(await run(command))
  for (const command of earlyCommands.splice(0)) handle(command)
  process.channel?.ref()
}

function usage() {
  const { user, system } = process.cpuUsage()
  return { cpu: (user + system) / 1e6, memory: process.memoryUsage.rss() }
}

function takeLoopDelay() {
  if (!delays) {
    delays = monitorEventLoopDelay({ resolution: delayResolutionMs })
    delays.enable()
  }
  // The histogram has the times between two samples, in nanoseconds.
  const late = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - delayResolutionMs)
  const delay = { p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), max: late(delays.max) }
  delays.reset()
  return delay
}
