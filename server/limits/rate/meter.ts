// Meters: the buckets of one caller, organization or network, one bucket for each cost class.
import type { StatusError } from '../../aip/errors.ts'
import { BoundedMap } from '../../bounded-map.ts'
import { costClasses } from './cost-class.ts'

export type Meter = {
  readonly key: string
  /** For each cost class, when its bucket will be full again, in milliseconds of the clock. */
  readonly fullAt: number[]
  /** For each cost class, the calls that other copies of the server do not know yet. */
  readonly unshared: number[]
  /** For each cost class, the last refusal: while the waiting time is the same, it is sent again. */
  readonly refusals: ({ seconds: number; error: StatusError } | undefined)[]
  /** Of a caller: the calls that are running. */
  running: number
  /** Of a caller: the uid of its organization; empty for a person, undefined before its first call on this copy. */
  root: string | undefined
  /** Of a caller: the meter of its organization, as of the latest call. */
  organization: Meter | undefined
}

const zeros = () => costClasses.map(() => 0)

const makeMeter = (key: string): Meter => ({
  key,
  fullAt: zeros(),
  unshared: zeros(),
  refusals: costClasses.map(() => undefined),
  running: 0,
  root: undefined,
  organization: undefined,
})

export type Meters = {
  of(key: string): Meter
}

/**
 * A table of at most `maxMeters`. When there is no room for another one, it first drops meters whose
 * buckets are all full again, which loses nothing, and then meters whose buckets are all at least
 * half full. Meters with running calls are dropped only if there are no others. So an empty bucket is
 * forgotten only while more than `maxMeters / 2` meters have a running call or a bucket that is less
 * than half full.
 * `usedShareOf` returns the used share of a meter's most used bucket (see `usedShare`).
 */
export function openMeters(maxMeters: number, usedShareOf: (meter: Meter) => number): Meters {
  const meters = new BoundedMap<string, Meter>(maxMeters)

  /** Drops at least half of the meters, so that the table is not scanned again before as many new keys arrive. */
  function makeRoom(): void {
    for (const maxShare of [0, 0.5, Number.POSITIVE_INFINITY])
      for (const [key, meter] of meters.entries()) {
        if (maxShare > 0 && meters.size <= maxMeters / 2) return
        if (meter.running === 0 && usedShareOf(meter) <= maxShare) meters.delete(key)
      }
  }

  return {
    of(key) {
      const known = meters.get(key)
      if (known) return known
      if (meters.size >= maxMeters) makeRoom()
      const meter = makeMeter(key)
      meters.set(key, meter)
      return meter
    },
  }
}
