// The keys of the server with their states and times, without the secret parts, for its operators.
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import type { KeyPurpose } from './stored-keys.ts'

export type ListedKey = {
  kid: string
  purpose: KeyPurpose
  /** The oldest key of a purpose that is not retired is in use (key-ring.ts); younger ones are pending. */
  state: 'pending' | 'active' | 'retired'
  /** In milliseconds since 1970, like all times here. */
  createTime: number
  /** Undefined while there is no successor. */
  retireTime: number | undefined
}

type Columns = [kid: string, purpose: KeyPurpose, createTime: number, retireTime: number | null]

/** All keys, the oldest first. */
export function* listKeys(now: number): Work<ListedKey[]> {
  const rows = yield* all(
    sql`select kid, purpose, create_time, retire_time from keys order by create_time, kid`,
  )
  const inUse = new Set<KeyPurpose>()
  return (rows as Columns[]).map(([kid, purpose, createTime, retired]) => {
    const retireTime = retired ?? undefined
    const key = { kid, purpose, createTime, retireTime }
    if (retireTime !== undefined && retireTime <= now) return { ...key, state: 'retired' }
    if (inUse.has(purpose)) return { ...key, state: 'pending' }
    inUse.add(purpose)
    return { ...key, state: 'active' }
  })
}
