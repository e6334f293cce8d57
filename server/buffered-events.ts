// Events that have no transaction of their own: issued tokens and refused writes.
import { scopeOf } from '@stemma/api/method.ts'
import { isUid, parentOf } from './aip/uid.ts'
import type { OnIssued } from './auth/exchange/security-token-service.ts'
import { issuedSubject } from './auth/tokens/issued-subject.ts'
import { callerOrigin } from './policy/origin.ts'
import { resources } from './resource-list.ts'
import type { Call } from './rpc/call.ts'
import type { OnRefusedWrite } from './rpc/corridor.ts'
import type { EventWithOrigin } from './store/events/record.ts'
import { groupOf } from './store/table.ts'
import type { Origin } from './store/write-access.ts'

/** The clock and the random source. Events keep the time of the call, and are inserted later. */
type Sources = Pick<Origin, 'now' | 'random'>

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
