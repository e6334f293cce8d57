// Records of sign-ins, which people see as their sessions. A record is deleted when its sign-in
// ends (store/sign-ins.ts, sign-outs.ts) or expires.
import { digestOf } from '../crypto/digest.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { all, first } from '../store/work.ts'
import { endOneSignIn } from './sign-outs.ts'

export type SignInRecord = {
  /** The id of the sign-in, or of the session of a browser (`browserSessionId`). */
  id: string
  identity: string
  isBrowser: boolean
  /** The client id of the program; empty for the session of a browser. */
  client: string
  address: string
  userAgent: string
  /** In milliseconds since 1970, like all times here. */
  createTime: number
  useTime: number
  expireTime: number
}

/** The id by which a session of oidc-provider is shown and ended. `uid` is secret, its digest is not. */
export const browserSessionId = (uid: string) => digestOf(`Session uid\0${uid}`)

/** Inserts a record, or updates the one of the same sign-in, which keeps its `createTime`. */
export function* putSignInRecord(record: SignInRecord): Work<void> {
  const { id, identity, isBrowser, client, address, userAgent, createTime, useTime, expireTime } = record
  yield sql`insert into sign_ins
    (id, identity, is_browser, client, address, user_agent, create_time, use_time, expire_time)
    values (${id}, ${identity}, ${isBrowser ? 1 : 0}, ${client}, ${address}, ${userAgent}, ${createTime},
      ${useTime}, ${expireTime})
    on conflict (id) do update set identity = excluded.identity, address = excluded.address,
      user_agent = excluded.user_agent, use_time = excluded.use_time, expire_time = excluded.expire_time`
}

type Use = Pick<SignInRecord, 'useTime'> & Partial<Pick<SignInRecord, 'address' | 'userAgent' | 'expireTime'>>

/** Records that a program got another token. Values that are left out stay as they are. */
export function* recordUse(id: string, { useTime, address, userAgent, expireTime }: Use): Work<void> {
  yield sql`update sign_ins set use_time = ${useTime}, address = coalesce(${address ?? null}, address),
    user_agent = coalesce(${userAgent ?? null}, user_agent),
    expire_time = coalesce(${expireTime ?? null}, expire_time) where id = ${id}`
}

const maxListed = 200

/** The sign-ins of a person, the most recently used first. */
export function* listSignIns(identity: string, now: number): Work<SignInRecord[]> {
  const rows =
    yield* all(sql`select id, is_browser, client, address, user_agent, create_time, use_time, expire_time
    from sign_ins where identity = ${identity} and expire_time > ${now} order by use_time desc, id limit ${maxListed}`)
  return rows.map((row) => {
    const [id, isBrowser, client, address, userAgent, createTime, useTime, expireTime] = row as Columns
    return {
      ...{ id, identity, isBrowser: isBrowser === 1, client, address, userAgent },
      ...{ createTime, useTime, expireTime },
    }
  })
}

type Columns = [
  ...[id: string, isBrowser: number, client: string, address: string, userAgent: string],
  ...[createTime: number, useTime: number, expireTime: number],
]

/** Ends a sign-in of this person. Returns false if the person has none with this id. */
export function* endListedSignIn(identity: string, id: string, now: number): Work<boolean> {
  const row = yield* first(sql`select is_browser from sign_ins where id = ${id} and identity = ${identity}`)
  if (!row) return false
  if (row[0] === 1) yield sql`delete from sign_in_states where session_uid = ${id} and identity = ${identity}`
  else yield* endOneSignIn(id, now)
  yield sql`delete from sign_ins where id = ${id}`
  return true
}

/** Ends the session of a browser at the sign-in pages. */
export function* endBrowserSession(id: string): Work<void> {
  yield sql`delete from sign_in_states where session_uid = ${id}`
  yield sql`delete from sign_ins where id = ${id}`
}

/**
 * Ends all sign-ins of a person but one, also those without a record. Tokens without the id of a
 * sign-in, such as those of the operator, stay valid until they expire, for an hour at most.
 */
export function* endOtherSignIns(identity: string, kept: string, now: number): Work<void> {
  const rows =
    yield* all(sql`select grant_id from sign_in_states where identity = ${identity} and grant_id is not null
    union select family from refresh_tokens where identity = ${identity}
    union select id from sign_ins where identity = ${identity} and is_browser = 0`)
  for (const [id] of rows) if (id !== kept) yield* endOneSignIn(id as string, now)
  yield sql`delete from sign_in_states where identity = ${identity}
    and (grant_id is null or grant_id <> ${kept})`
  yield sql`delete from sign_ins where identity = ${identity} and id <> ${kept}`
}
