// Replaces keys by new ones, on demand and when they are 90 days old.
import { serverLog } from '../../store/events/event-row.ts'
import type { Recording } from '../../store/events/record.ts'
import { recordEvent } from '../../store/events/record.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { KeyRing } from './key-ring.ts'
import type { KeyDependencies } from './stored-keys.ts'
import { insertKey, keyPurposes, makeKey, requiredPurposes, retentionTime } from './stored-keys.ts'

const minute = 60_000
/**
 * The time between the creation of a key and its first use. By its end, every copy has read the key, and clients that
 * cache our published keys have fetched them again (key-set-path.ts).
 */
const activationDelay = 10 * minute
const reloadInterval = minute
const maxAge = 90 * 24 * 60 * minute

/** Records a rotation in the event log of the server. */
export const recordRotation = (access: Recording, revoked: boolean): Work<void> =>
  recordEvent(access, {
    ...{ group: serverLog, kind: 'keys', uid: serverLog, action: 'rotated', details: { revoked } },
  })

/**
 * Makes new keys. The old ones are used for another ten minutes, or deleted at once if `isRevoked`. A key that the
 * setting `tokenAlgorithm` does not need gets no successor. A copy of the server with another setting makes one when it
 * reads the keys again (key-ring.ts). `record` runs in the same transaction. If `isDue` returns false there, nothing is
 * changed.
 */
export async function rotateKeys(
  deps: KeyDependencies,
  isRevoked: boolean,
  record: () => Work<void>,
  isDue?: () => Work<boolean>,
): Promise<void> {
  const { store, now, tokenAlgorithm } = deps
  const newKeys = await Promise.all(requiredPurposes(tokenAlgorithm).map((purpose) => makeKey(deps, purpose)))
  const time = now()
  await store.write(function* () {
    // Several copies may rotate at the same time; the lock makes them do so one after the other. PostgreSQL runs only the
    // lock, because `--` hides the rest of the line. SQLite runs only `select 1`.
    yield raw('/*pg lock table keys in exclusive mode -- */ select 1')
    if (isDue && !(yield* isDue())) return
    for (const purpose of keyPurposes) {
      if (isRevoked) yield sql`delete from keys where purpose = ${purpose}`
      else {
        yield sql`delete from keys
          where purpose = ${purpose} and retire_time < ${time - retentionTime[purpose]}`
        yield sql`update keys set retire_time = ${time + activationDelay}
          where purpose = ${purpose} and (retire_time is null or retire_time > ${time + activationDelay})`
      }
    }
    for (const key of newKeys) yield insertKey(key, time)
    yield* record()
  })
}

/** Every minute, rotates keys that are too old and reads keys that other copies made. Returns a function to stop this. */
export function maintainKeys(
  deps: KeyDependencies,
  keys: KeyRing,
  record: () => Work<void>,
  onError: (error: unknown) => void,
): () => void {
  const maintain = async () => {
    await rotateOldKeys(deps, record)
    await keys.reload()
  }
  const timer = setInterval(() => maintain().catch(onError), reloadInterval).unref()
  return () => clearInterval(timer)
}

/** Rotates keys that are too old. If several copies do so at the same time, only the first one makes new keys. */
export async function rotateOldKeys(deps: KeyDependencies, record: () => Work<void>): Promise<void> {
  const oldest = deps.now() - maxAge
  function* hasOldKeys(): Work<boolean> {
    const [row] = yield sql`select min(create_time) from keys where retire_time is null`
    return typeof row?.[0] === 'number' && row[0] < oldest
  }
  if (await deps.store.read(hasOldKeys)) await rotateKeys(deps, false, record, hasOldKeys)
}
