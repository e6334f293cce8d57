// Records when an identity last signed in or was assumed, at most once a minute. The request does not wait for the
// write. The update time and the entity tag of the identity stay the same.
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { BoundedMap } from '../../../bounded-map.ts'
import type { Store } from '../../../store/db.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { asUpkeep } from '../../../store/write-access.ts'
import { lockResource, replaceResource } from '../../stored-resource.ts'
import { identities } from './table.ts'

/** The minimum time between two writes for one identity. */
const intervalMs = 60_000
const maxCachedIdentities = 10_000

export type RecordSeen = (identity: string) => void

type LastSeenOptions = {
  store: Store
  access: WriteAccess
  now(): number
  onError(error: unknown): void
}

export function openLastSeen({ store, access, now, onError }: LastSeenOptions): RecordSeen {
  const recorded = new BoundedMap<string, number>(maxCachedIdentities)
  return (identity) => {
    const time = now()
    if (time - (recorded.get(identity) ?? Number.NEGATIVE_INFINITY) < intervalMs) return
    recorded.set(identity, time)
    store.write(() => writeLastSeen(access, identity, time)).catch(onError)
  }
}

export function* writeLastSeen(access: WriteAccess, uid: string, time: number): Work<void> {
  const stored = yield* lockResource(identities, uid)
  if (!stored) return
  const { resource: identity, updateTime } = stored
  const lastSeenMs = identity.lastSeenTime ? timestampMs(identity.lastSeenTime) : 0
  // Another copy of the server may have recorded a use within the interval.
  if (time - lastSeenMs < intervalMs) return
  identity.lastSeenTime = timestampFromMs(time)
  yield* replaceResource(asUpkeep(access), identities, identity, { uid, updateTime })
}
