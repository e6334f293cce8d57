// Limits the log lines for refused requests of unknown callers, so that a flood of requests does not cause a flood of
// lines. When a network has reached the limit, its further refusals are counted; one line per period has the counts.
import type { Log } from '../log.ts'
import { networkOf } from '../wire/client-network.ts'

export type RefusalLog = {
  /**
   * Returns whether to write a line for this refusal; if not, the refusal is counted. `category` is the name of its
   * status code, or the text of its line.
   */
  admit(address: string, category: string): boolean
  /** Writes the counts now, before the end of the period. */
  flush(): void
}

export type RefusalLogOptions = {
  /** Maximum number of lines for one network in a period. */
  maxLines: number
  /** Maximum number of lines for all networks together in a period. */
  maxTotalLines: number
  periodMs: number
}

const defaults: RefusalLogOptions = { maxLines: 100, maxTotalLines: 10_000, periodMs: 10_000 }
/** Maximum number of networks that are counted separately in a period. Further networks are counted together. */
const maxNetworks = 1000
const otherNetworks = 'others'

/** `lines`: the number of lines for a network in this period. `counts`: its refusals without a line, by category. */
type NetworkRefusals = { lines: number; counts: Map<string, number> | undefined }

export function openRefusalLog(log: Log, overrides: Partial<RefusalLogOptions> = {}): RefusalLog {
  const { maxLines, maxTotalLines, periodMs } = { ...defaults, ...overrides }
  const byNetwork = new Map<string, NetworkRefusals>()
  let totalLines = 0
  let timer: NodeJS.Timeout | undefined

  function refusalsOf(network: string): NetworkRefusals {
    const isNew = !byNetwork.has(network)
    const key = isNew && byNetwork.size >= maxNetworks ? otherNetworks : network
    const refusals = byNetwork.get(key) ?? { lines: 0, counts: undefined }
    byNetwork.set(key, refusals)
    return refusals
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    for (const [network, { counts }] of byNetwork)
      if (counts) log.info({ network, counts: Object.fromEntries(counts) }, 'requests refused')
    byNetwork.clear()
    totalLines = 0
  }

  return {
    flush,
    admit(address, category) {
      timer ??= setTimeout(flush, periodMs).unref()
      const refusals = refusalsOf(networkOf(address))
      if (refusals.lines < maxLines && totalLines < maxTotalLines) {
        refusals.lines++
        totalLines++
        return true
      }
      refusals.counts ??= new Map()
      refusals.counts.set(category, (refusals.counts.get(category) ?? 0) + 1)
      return false
    },
  }
}
