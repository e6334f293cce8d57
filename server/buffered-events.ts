// Events that have no transaction of their own: issued tokens, pulls and refused writes.
import { scopeOf } from '@stemma/api/method.ts'
import { isUid, parentOf } from './aip/uid.ts'
import type { OnIssued } from './auth/exchange/security-token-service.ts'
import { issuedSubject } from './auth/tokens/issued-subject.ts'
import type { EventBuffer } from './events/event-buffer.ts'
import { openEventBuffer } from './events/event-buffer.ts'
import type { RefusedWrites } from './events/refused-writes.ts'
import { openRefusedWrites } from './events/refused-writes.ts'
import type { Log } from './log.ts'
import { callerOrigin } from './policy/origin.ts'
import { resources } from './resource-list.ts'
import type { Call } from './rpc/call.ts'
import type { OnRefusedWrite } from './rpc/call-end.ts'
import type { Store } from './store/db.ts'
import type { EventWithOrigin } from './store/events/record.ts'
import { groupOf } from './store/table.ts'
import type { Origin } from './store/write-access.ts'
import type { BackgroundCounts } from './workers/background-counts.ts'
import { addCounts } from './workers/background-counts.ts'

/** The clock and the random source. Events keep the time of the call, and are inserted later. */
type Sources = Pick<Origin, 'now' | 'random'>

export type BufferedEvents = Pick<EventBuffer, 'add' | 'waiting'> & {
  /** Records a refused write or sign-in. */
  addRefused: RefusedWrites['add']
  /** Inserts the events that wait. */
  stop(): Promise<void>
}

export type BufferedEventsOptions = {
  store: Store
  log: Log
  now(): number
  /** Counts events that were dropped, for the metrics. */
  counts: BackgroundCounts | undefined
}

export function openBufferedEvents({ store, log, now, counts }: BufferedEventsOptions): BufferedEvents {
  const onError = (err: unknown) => log.warn({ err }, 'events could not be recorded')
  const onLost = (count: number) => {
    if (counts) addCounts(counts, { eventsDropped: count })
    log.warn({ count }, 'events are missing in the audit log: too many waited, or they could not be recorded')
  }
  const buffer = openEventBuffer({ store, onError, onLost })
  const refusedWrites = openRefusedWrites({ store, now, onError, onLost })
  return {
    add: buffer.add,
    waiting: buffer.waiting,
    addRefused: refusedWrites.add,
    async stop() {
      await Promise.all([buffer.stop(), refusedWrites.stop()])
    },
  }
}

/** The event is in the group of the identity; a person has no group, so it is under their uid. */
export function openIssuedTokenLog({
  add,
  ...sources
}: Sources & { add(make: () => EventWithOrigin): void }): OnIssued {
  return (call, token, action) => {
    const { demand } = call as unknown as Call // the corridor passes whole calls
    const time = sources.now()
    add(() => {
      const identity = issuedSubject(token)
      return {
        ...{ group: parentOf(identity) || identity, kind: 'identities', uid: identity, action },
        origin: callerOrigin({ ...demand.caller, identity }, demand.origin, { ...sources, now: () => time }),
      }
    })
  }
}

const tables = new Map(resources.map(({ kind }) => [kind.desc.typeName, kind.table]))

/** A refused write is recorded in the group that it is about. */
export function openRefusalRecorder({
  add,
  ...sources
}: Sources & { add(event: EventWithOrigin): void }): OnRefusedWrite {
  return (method, envelope, caller, request, code) => {
    const uid = scopeOf(method, request)
    if (!isUid(uid)) return
    const time = sources.now()
    const table = tables.get(method.scopeKind)
    const group = table ? groupOf(table, uid) : parentOf(uid) || uid
    add({
      ...{ group, kind: table?.name ?? '', uid, action: 'refused', code },
      origin: callerOrigin(caller, { method: method.name, envelope }, { ...sources, now: () => time }),
    })
  }
}
