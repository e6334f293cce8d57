// When an identity was last used. Told after the answer, at most once a minute, and no change of the resource:
// its time of update and its tag stay.
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Store } from '../../../store/db.ts'
import { lockResource, replaceResource } from '../../stored-resource.ts'
import { identities } from './table.ts'

const often = 60_000
const mostRemembered = 10_000

export type NoteSeen = (identity: string) => void

export function openLastSeen(store: Store, now: () => number, onError: (error: unknown) => void): NoteSeen {
  const noted = new Map<string, number>()
  return (identity) => {
    const time = now()
    if (time - (noted.get(identity) ?? Number.NEGATIVE_INFINITY) < often) return
    noted.delete(identity)
    if (noted.size >= mostRemembered) noted.delete(noted.keys().next().value as string) // not empty
    noted.set(identity, time)
    noteSeen(store, identity, time).catch(onError)
  }
}

export function noteSeen(store: Store, uid: string, time: number): Promise<void> {
  return store.write(function* () {
    const stored = yield* lockResource(identities, uid)
    if (!stored) return
    const { resource: identity, updateTime } = stored
    const before = identity.lastSeenTime ? timestampMs(identity.lastSeenTime) : 0
    // Another copy may have noted it meanwhile.
    if (time - before < often) return
    identity.lastSeenTime = timestampFromMs(time)
    yield* replaceResource(identities, identity, { uid, updateTime })
  })
}
