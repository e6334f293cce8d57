// Limits the log lines of refused requests whose caller is not known. A network that has many gets one line with their
// counts for each period, so that a flood of requests is neither a flood of lines nor pays for writing them.
import type { Log } from '../log.ts'
import { networkOf } from '../wire/client-network.ts'

export type RefusalLog = {
  /** Whether a refusal may have a line of its own; otherwise it is counted. `code` is the name of its code. */
  admit(address: string, code: string): boolean
  /** Writes the counts that no line contains yet. */
  flush(): void
}

export type RefusalLogOptions = {
  /** Lines of one network in a period. */
  maxLines: number
  /** Lines of all networks in a period. */
  maxTotalLines: number
  periodMs: number
}

const defaults: RefusalLogOptions = { maxLines: 100, maxTotalLines: 10_000, periodMs: 10_000 }
/** Networks that are counted separately in a period. */
const maxNetworks = 1000
const otherNetworks = 'others'

/** `counts` has the refusals without a line, by their code. */
type Tally = { lines: number; counts: Map<string, number> | undefined }

export function openRefusalLog(log: Log, overrides: Partial<RefusalLogOptions> = {}): RefusalLog {
  const { maxLines, maxTotalLines, periodMs } = { ...defaults, ...overrides }
  const tallies = new Map<string, Tally>()
  let totalLines = 0
  let timer: NodeJS.Timeout | undefined

  function tallyOf(network: string): Tally {
    const isNew = !tallies.has(network)
    const key = isNew && tallies.size >= maxNetworks ? otherNetworks : network
    const tally = tallies.get(key) ?? { lines: 0, counts: undefined }
    tallies.set(key, tally)
    return tally
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    for (const [network, { counts }] of tallies)
      if (counts) log.info({ network, counts: Object.fromEntries(counts) }, 'requests refused')
    tallies.clear()
    totalLines = 0
  }

  return {
    flush,
    admit(address, code) {
      timer ??= setTimeout(flush, periodMs).unref()
      const tally = tallyOf(networkOf(address))
      if (tally.lines < maxLines && totalLines < maxTotalLines) {
        tally.lines++
        totalLines++
        return true
      }
      tally.counts ??= new Map()
      tally.counts.set(code, (tally.counts.get(code) ?? 0) + 1)
      return false
    },
  }
}
