// Records pulls of manifests and blobs in the event log. The pull itself runs no SQL for it.

import { StatusError, textOf } from '../../../aip/errors.ts'
import { registryCodeOf } from '../../../aip/registry-error.ts'
import { parentOf, rootOf } from '../../../aip/uid.ts'
import { BoundedMap } from '../../../bounded-map.ts'
import type { RegistryDetails } from '../../../cloud-events/other-events.ts'
import type { Demand } from '../../../policy/admit.ts'
import { callerOrigin } from '../../../policy/origin.ts'
import type { EventWithOrigin } from '../../../store/events/record.ts'
import type { Envelope } from '../../../wire/envelope.ts'
import type { Pull, PullLog } from '../../dependencies.ts'

export type PullLogOptions = {
  /** Which pulls are recorded. */
  recorded: 'all' | 'manifests' | 'none'
  /** Returns whether the event will be inserted. */
  add(make: () => EventWithOrigin): boolean
  /** How many events wait to be inserted. */
  waiting(): number
}

/** How many pulls of anonymous clients are recorded in a minute for each organization: they could fill its log. */
const maxAnonymous = 60

/**
 * While fewer events than this wait, each pull is an event. Otherwise, a pull that equals a waiting
 * one only increases its count, so a client that sends one request ten thousand times in a second
 * causes few events.
 */
const maxSeparate = 32

export function openPullLog({ recorded, add, waiting }: PullLogOptions): PullLog {
  if (recorded === 'none') return () => {}
  const mayRecordAnonymous = openMinuteCounter(maxAnonymous)
  /**
   * Waiting pulls whose count can increase, by caller and `keyOf`. There are at most as many as
   * waiting events. Two tokens of one identity are two callers, because they may come from
   * different people.
   */
  const counted = new Map<Demand['caller'], Map<string, WaitingPull>>()
  return (demand, pull) => {
    if (recorded === 'manifests' && pull.type === 'blob') return
    const time = demand.now()
    if (demand.caller.identity === '' && !mayRecordAnonymous(rootOf(demand.scope), time)) return
    if (waiting() < maxSeparate) {
      const separate = waitingPull(demand, pull, time)
      add(() => eventOf(separate))
      return
    }
    const { caller } = demand
    const ofCaller = counted.get(caller) ?? new Map<string, WaitingPull>()
    const key = keyOf(demand, pull)
    const known = ofCaller.get(key)
    if (known) {
      known.count++
      return
    }
    const first = waitingPull(demand, pull, time)
    const isAdded = add(() => {
      ofCaller.delete(key)
      if (ofCaller.size === 0) counted.delete(caller)
      return eventOf(first)
    })
    if (isAdded) counted.set(caller, ofCaller.set(key, first))
  }
}

/**
 * Everything that an event shows of a pull, except its caller, its time and the id of the request.
 * The values are separated by line breaks, which none of them contains.
 */
function keyOf({ scope, origin: { envelope } }: Demand, { type, reference, digest, error }: Pull): string {
  const { repo, address, userAgent } = envelope
  const found = error ? 'missing' : 'found'
  return `${scope}\n${repo?.name}\n${repo?.method}\n${type}\n${reference}\n${digest}\n${found}\n${address}\n${userAgent}`
}

/**
 * Copies values from the demand: the demand itself would keep its request in memory until the event
 * is inserted, and thousands may wait.
 */
type WaitingPull = Pull &
  Pick<Demand, 'caller' | 'scope' | 'random'> & {
    method: string
    envelope: Pick<Envelope, 'door' | 'requestId' | 'address' | 'userAgent' | 'repo'>
    time: number
    count: number
  }

function waitingPull({ caller, scope, random, origin }: Demand, pull: Pull, time: number): WaitingPull {
  const { door, requestId, address, userAgent, repo } = origin.envelope
  const envelope = { door, requestId, address, userAgent, repo }
  return { ...pull, caller, scope, random, method: origin.method, envelope, time, count: 1 }
}

function eventOf(pull: WaitingPull): EventWithOrigin {
  const { caller, scope, random, method, envelope, time, count, type, reference, digest, error } = pull
  const details: RegistryDetails = {
    repository: envelope.repo?.name ?? '',
    // Only digests contain a colon.
    ...(!reference.includes(':') && { tag: reference }),
    ...{ digest, method: envelope.repo?.method ?? 'GET', type },
    ...(count > 1 && { count }),
    ...(error instanceof StatusError && errorDetails(error)),
  }
  return {
    origin: callerOrigin(caller, { method, envelope }, { now: () => time, random }),
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
