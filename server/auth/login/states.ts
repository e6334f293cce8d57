// What sign-in remembers for a while: sessions, codes, refresh tokens, one-time links. Each is found by something
// that only its bearer knows, of which the store has a digest, and what it says is encrypted.
import { digestOf } from '../../crypto/digest.ts'
import type { Secret } from '../../crypto/secret.ts'
import type { Sql } from '../../store/sql.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'

export type Payload = Record<string, unknown>

export type State = {
  payload: Payload
  identity: string | undefined
  /** When it was used up, in milliseconds. */
  useTime: number | undefined
  /** The second in which whose it is was last signed out everywhere. */
  signedOut: number | undefined
}

/** How else a state can be found or ended. */
export type Handles = {
  grant?: string | undefined
  userCode?: string | undefined
  sessionUid?: string | undefined
  /** Whose it is: it goes when they go. */
  identity?: string | undefined
}

export type States = {
  /** Remembers, or remembers anew, for so many seconds. */
  put(kind: string, id: string, payload: Payload, seconds: number, handles?: Handles): Work<void>
  find(kind: string, id: string): Work<State | undefined>
  findByUserCode(kind: string, userCode: string): Work<State | undefined>
  findBySessionUid(kind: string, uid: string): Work<State | undefined>
  /** Uses it up. Only one of those who try at once is told that it was still good. */
  use(kind: string, id: string): Work<State | undefined>
  remove(kind: string, id: string): Work<void>
  removeByGrant(grant: string): Work<void>
}

const keyOf = (kind: string, id: string) => digestOf(`${kind}\0${id}`)

const keyIf = (kind: string, id: string | undefined) => (id === undefined ? null : keyOf(kind, id))

export function openStates(secret: Secret, now: () => number): States {
  const purposeOf = (digest: string) => `sign-in state ${digest}`

  function* findWhere(condition: Sql): Work<State | undefined> {
    const row = yield* first(sql`select s.id, s.sealed, s.identity, s.use_time, o.second
      from sign_in_states s left join sign_outs o on o.identity = s.identity
      where ${condition} and s.expire_time > ${now()}`)
    if (!row) return undefined
    const [digest, sealed, ...rest] = row as [string, Uint8Array, string | null, number | null, number | null]
    const [identity, useTime, signedOut] = rest
    return {
      payload: JSON.parse(secret.unwrap(purposeOf(digest), sealed).toString()) as Payload,
      ...{
        identity: identity ?? undefined,
        useTime: useTime ?? undefined,
        signedOut: signedOut ?? undefined,
      },
    }
  }

  return {
    *put(kind, id, payload, seconds, handles = {}) {
      const digest = keyOf(kind, id)
      const sealed = secret.wrap(purposeOf(digest), Buffer.from(JSON.stringify(payload)))
      const grant = keyIf('grant', handles.grant)
      const userCode = keyIf(`${kind} user code`, handles.userCode)
      const uid = keyIf(`${kind} uid`, handles.sessionUid)
      yield sql`insert into sign_in_states
        (id, sealed, grant_id, user_code, session_uid, identity, expire_time)
        values (${digest}, ${sealed}, ${grant}, ${userCode}, ${uid}, ${handles.identity ?? null},
          ${now() + seconds * 1000})
        on conflict (id) do update set sealed = excluded.sealed, grant_id = excluded.grant_id,
          user_code = excluded.user_code, session_uid = excluded.session_uid, identity = excluded.identity,
          expire_time = excluded.expire_time`
    },
    find: (kind, id) => findWhere(sql`s.id = ${keyOf(kind, id)}`),
    findByUserCode: (kind, code) => findWhere(sql`s.user_code = ${keyOf(`${kind} user code`, code)}`),
    findBySessionUid: (kind, uid) => findWhere(sql`s.session_uid = ${keyOf(`${kind} uid`, uid)}`),
    *use(kind, id) {
      const state = yield* findWhere(sql`s.id = ${keyOf(kind, id)}`)
      const rows = yield sql`update sign_in_states set use_time = ${now()}
        where id = ${keyOf(kind, id)} and use_time is null returning id`
      return rows.length > 0 ? state : undefined
    },
    *remove(kind, id) {
      yield sql`delete from sign_in_states where id = ${keyOf(kind, id)}`
    },
    *removeByGrant(grant) {
      yield sql`delete from sign_in_states where grant_id = ${keyOf('grant', grant)}`
    },
  }
}

const forgottenAtOnce = 1000

/** What has expired is forgotten, some at a time; answers whether there may be more. */
export function* forgetExpired(now: number): Work<boolean> {
  let isMore = false
  for (const table of ['sign_in_states', 'refresh_tokens']) {
    const rows = yield sql`delete from ${raw(table)} where id in
      (select id from ${raw(table)} where expire_time < ${now} limit ${forgottenAtOnce}) returning id`
    isMore ||= rows.length === forgottenAtOnce
  }
  return isMore
}
