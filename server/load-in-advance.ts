// Loads the parts of a server that its start leaves out (docs/internals/start.md) before a client needs them, once the
// server is in use and has time. Otherwise the first request for such a part delays all other calls, by half a second on
// a busy server.
import { performance } from 'node:perf_hooks'

const intervalMs = 1000
/** A server is in use once its event loop has been active for this long in total since the server was ready. */
const activeMs = 1000
/** The event loop has time if it was active for at most this share of the last interval. */
const maxUtilization = 0.5

/** Returns a function that cancels the loading if it has not started. */
export function loadInAdvance(
  load: () => Promise<unknown>,
  utilizationOf = performance.eventLoopUtilization,
) {
  const start = utilizationOf()
  let last = start
  const timer = setInterval(() => {
    const current = utilizationOf()
    const { utilization } = utilizationOf(current, last)
    last = current
    if (current.active - start.active < activeMs || utilization > maxUtilization) return
    clearInterval(timer)
    // The request that needs the part reports the error.
    load().catch(() => {})
  }, intervalMs).unref()
  return () => clearInterval(timer)
}
