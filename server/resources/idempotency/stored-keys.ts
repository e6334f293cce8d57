// The table of idempotency keys.
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'

/** A key as it is stored: keyed hashes of (caller, method, key) and of the request. */
export type StoredKey = { id: string; digest: string }

export type StoredOutcome = { digest: string; sealed: Uint8Array }

const lifetimeMs = 24 * 60 * 60 * 1000

/** Responses over this size are counted separately, because a caller may keep only few of them. In bytes. */
const largeSize = 8 * 1024

/** How many of the newest keys of a caller are kept. */
const keptPerCaller = { small: 10_000, large: 100 }

/** Undefined if the key is not stored or has expired. An expired row is deleted, so the key can be stored again. */
export function* findOutcome({ id }: StoredKey, now: number): Work<StoredOutcome | undefined> {
  const row = yield* first(sql`select digest, sealed, expire_time from idempotency_keys where id = ${id}`)
  if (!row) return undefined
  const [digest, sealed, expireTime] = row as [string, Uint8Array, number] // as selected
  if (expireTime > now) return { digest, sealed }
  yield sql`delete from idempotency_keys where id = ${id} and expire_time = ${expireTime}`
  return undefined
}

/** Of concurrent calls with the same key, all but one get a StoreError `unique`. */
export function* insertOutcome(
  { id, digest }: StoredKey,
  caller: string,
  sealed: Uint8Array,
  now: number,
  kept = keptPerCaller,
): Work<void> {
  const isLarge = sealed.length > largeSize
  yield sql`insert into idempotency_keys (id, caller, is_large, digest, create_time, expire_time, sealed)
    values (${id}, ${caller}, ${isLarge ? 1 : 0}, ${digest}, ${now}, ${now + lifetimeMs}, ${sealed})`
  if (isLarge) yield* deleteOldest(caller, 1, kept.large)
  else if (triggersDeletion(id)) yield* deleteOldest(caller, 0, kept.small)
}

/**
 * True for one id in 128. `deleteOldest` reads past the kept keys, which takes half a millisecond, so it does not run
 * for each small key. Ids are keyed hashes, which a caller cannot choose, so the limit is rarely exceeded by more than
 * a few hundred keys.
 */
const triggersDeletion = (id: string) => /^A[A-Za-f]/.test(id)

function* deleteOldest(caller: string, isLarge: number, kept: number): Work<void> {
  const newestToDelete = yield* first(sql`select create_time, id from idempotency_keys
    where caller = ${caller} and is_large = ${isLarge}
    order by create_time desc, id desc limit 1 offset ${kept}`)
  if (!newestToDelete) return
  const [time, id] = newestToDelete as [number, string] // as selected
  yield sql`delete from idempotency_keys where id in (select id from idempotency_keys
    where caller = ${caller} and is_large = ${isLarge} and (create_time, id) <= (${time}, ${id})
    /*pg for update skip locked */)`
}
