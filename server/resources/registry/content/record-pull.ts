// Records pulls of manifests and blobs in the event log, without a statement in the path of the pull.

import { StatusError, textOf } from '../../../aip/errors.ts'
import { registryCodeOf } from '../../../aip/registry-error.ts'
import { parentOf, rootOf } from '../../../aip/uid.ts'
import { BoundedMap } from '../../../bounded-map.ts'
import type { RegistryDetails } from '../../../cloud-events/other-events.ts'
import type { Demand } from '../../../policy/admit.ts'
import { callerOrigin } from '../../../policy/origin.ts'
import type { LooseEvent } from '../../../store/events/record.ts'
import type { Pull, PullLog } from '../../dependencies.ts'

export type PullLogOptions = {
  /** Which pulls are recorded. */
  recorded: 'all' | 'manifests' | 'none'
  add(make: () => LooseEvent): void
}

/** How many pulls of anonymous clients are recorded in a minute for each organization: they could fill its log. */
const maxAnonymous = 60

export function openPullLog({ recorded, add }: PullLogOptions): PullLog {
  if (recorded === 'none') return () => {}
  const mayRecordAnonymous = openMinuteCounter(maxAnonymous)
  return (demand, pull) => {
    if (recorded === 'manifests' && pull.type === 'blob') return
    const time = demand.now()
    if (demand.caller.identity === '' && !mayRecordAnonymous(rootOf(demand.scope), time)) return
    add(() => eventOf(demand, pull, time))
  }
}

function eventOf(demand: Demand, { type, reference, digest, error }: Pull, time: number): LooseEvent {
  const { caller, origin, random, scope } = demand
  const { repo } = origin.envelope
  const details: RegistryDetails = {
    repository: repo?.name ?? '',
    // Only digests contain a colon.
    ...(!reference.includes(':') && { tag: reference }),
    ...{ digest, method: repo?.method ?? 'GET', type },
    ...(error instanceof StatusError && errorDetails(error)),
  }
  return {
    origin: callerOrigin(caller, origin, { now: () => time, random }),
    ...{ group: parentOf(scope), kind: 'repos', uid: scope, action: 'pulled', details },
    code: error instanceof StatusError ? error.code : 0,
  }
}

const errorDetails = (error: StatusError) => ({
  ...{ errorStatus: error.http, errorCode: registryCodeOf(error) ?? 'UNKNOWN', errorMessage: textOf(error) },
})

/** Whether fewer than `max` were counted for the key in the current minute. */
function openMinuteCounter(max: number): (key: string, time: number) => boolean {
  const counts = new BoundedMap<string, { minute: number; count: number }>(10_000)
  return (key, time) => {
    const minute = Math.floor(time / 60_000)
    const known = counts.get(key)
    if (known?.minute !== minute) counts.set(key, { minute, count: 1 })
    else if (++known.count > max) return false
    return true
  }
}
