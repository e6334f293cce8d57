// The worker threads of a process share their rate limits over a channel that all of them listen to.
// For the limits, each thread counts as a copy.
import type { BroadcastChannel } from 'node:worker_threads'
import type { Exchange, SharedLimits, Usage } from './shared-usage.ts'

export type ThreadsOptions = {
  /** Must have a name that only the threads of this server know. */
  channel: BroadcastChannel
  limits: SharedLimits
  /** How many threads there are. */
  count: number
}

export function openThreadExchange({ channel, limits, count }: ThreadsOptions): Exchange {
  limits.setCopies(count)
  channel.unref()
  channel.onmessage = (event) => limits.addUsage((event as { data: Usage[] }).data) // posted below
  return {
    async exchange() {
      const usage = limits.takeUsage()
      if (usage.length > 0) channel.postMessage(usage)
    },
    async leave() {
      channel.close()
    },
  }
}
