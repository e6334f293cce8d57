// Sign-in states that expire: sessions, codes, refresh tokens of oidc-provider, one-time links. A state is found by a
// secret that only its owner knows. The store contains the digest of the secret, and the encrypted payload.
import { digestOf } from '../../crypto/digest.ts'
import type { Secret } from '../../crypto/secret.ts'
import { endSignIn } from '../../store/sign-ins.ts'
import type { Sql } from '../../store/sql.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'

export type Payload = Record<string, unknown>

export type ExpiringState = {
  payload: Payload
  identity: string | undefined
  /** When the state was used, in milliseconds since 1970. A state can be used once. */
  useTime: number | undefined
  /** Time of the identity's last sign-out everywhere, in seconds since 1970 (sign-outs.ts). */
  signOutSecond: number | undefined
}

/** Other keys by which a state can be found or deleted. */
export type StateKeys = {
  /** The id of the OAuth grant that the state belongs to. */
  grant?: string | undefined
  userCode?: string | undefined
  sessionUid?: string | undefined
  /** The identity that the state belongs to. The state is deleted with the identity. */
  identity?: string | undefined
  /** The network of the client, for a state without an identity. The number of such states is limited. */
  network?: string | undefined
}

export type ExpiringStates = {
  /** Stores or replaces a state for a number of seconds. */
  put(kind: string, id: string, payload: Payload, seconds: number, keys?: StateKeys): Work<void>
  find(kind: string, id: string): Work<ExpiringState | undefined>
  findByUserCode(kind: string, userCode: string): Work<ExpiringState | undefined>
  findBySessionUid(kind: string, uid: string): Work<ExpiringState | undefined>
  /** Marks a state as used and returns it; undefined if it was used before. Of concurrent uses, one succeeds. */
  use(kind: string, id: string): Work<ExpiringState | undefined>
  remove(kind: string, id: string): Work<void>
  /** Removes all states of a grant, and ends its sign-in. */
  removeByGrant(grant: string): Work<void>
}

/** How many states without an identity are kept. If there are more, the oldest are deleted. */
export type AnonymousLimits = { perNetwork: number; total: number }

/** Each has at most 8192 characters (provider/adapter.ts), so one network can fill 1.6 MB, and all networks 80 MB. */
const defaultLimits: AnonymousLimits = { perNetwork: 200, total: 10_000 }

type StateDependencies = { secret: Secret; now(): number; anonymousLimits?: AnonymousLimits }

export function openExpiringStates(deps: StateDependencies): ExpiringStates {
  const { now } = deps
  const prune = openPruning(deps.anonymousLimits ?? defaultLimits)
  const findById = (kind: string, id: string) => findWhere(deps, sql`s.id = ${digestFor(kind, id)}`)
  return {
    *put(kind, id, payload, seconds, keys = {}) {
      yield* put(deps, kind, id, payload, seconds, keys)
      if (keys.network !== undefined) yield* prune(digestFor('network', keys.network))
    },
    find: findById,
    findByUserCode: (kind, code) =>
      findWhere(deps, sql`s.user_code = ${digestFor(`${kind} user code`, code)}`),
    findBySessionUid: (kind, uid) => findWhere(deps, sql`s.session_uid = ${digestFor(`${kind} uid`, uid)}`),
    *use(kind, id) {
      const state = yield* findById(kind, id)
      const rows = yield sql`update sign_in_states set use_time = ${now()}
        where id = ${digestFor(kind, id)} and use_time is null returning id`
      return rows.length > 0 ? state : undefined
    },
    *remove(kind, id) {
      yield sql`delete from sign_in_states where id = ${digestFor(kind, id)}`
    },
    *removeByGrant(grant) {
      const id = signInIdOf(grant)
      yield* endSignIn(id, now())
      yield sql`delete from sign_in_states where grant_id = ${id}`
    },
  }
}

const deletionBatch = 1000

const digestFor = (kind: string, id: string) => digestOf(`${kind}\0${id}`)

/** The id of the sign-in that a grant of oidc-provider belongs to. Not secret, unlike the grant. */
export const signInIdOf = (grant: string) => digestFor('grant', grant)

const purposeOf = (digest: string) => `sign-in state ${digest}`

function* put(
  { secret, now }: StateDependencies,
  kind: string,
  id: string,
  payload: Payload,
  seconds: number,
  keys: StateKeys,
): Work<void> {
  const digest = digestFor(kind, id)
  const sealed = secret.wrap(purposeOf(digest), Buffer.from(JSON.stringify(payload)))
  const digestIf = (keyKind: string, key: string | undefined) =>
    key === undefined ? null : digestFor(keyKind, key)
  const grant = keys.grant === undefined ? null : signInIdOf(keys.grant)
  const userCode = digestIf(`${kind} user code`, keys.userCode)
  const sessionUid = digestIf(`${kind} uid`, keys.sessionUid)
  const network = digestIf('network', keys.network)
  yield sql`insert into sign_in_states
    (id, sealed, grant_id, user_code, session_uid, identity, network, anonymous_time, expire_time)
    values (${digest}, ${sealed}, ${grant}, ${userCode}, ${sessionUid}, ${keys.identity ?? null}, ${network},
      ${network === null ? null : now()}, ${now() + seconds * 1000})
    on conflict (id) do update set sealed = excluded.sealed, grant_id = excluded.grant_id,
      user_code = excluded.user_code, session_uid = excluded.session_uid, identity = excluded.identity,
      network = excluded.network, anonymous_time = excluded.anonymous_time, expire_time = excluded.expire_time`
}

/** Counting all states takes a millisecond, so the total is checked only once for this many new states. */
const putsPerTotalCheck = 100

/**
 * Deletes the oldest states without an identity if there are more than the limits. Refusing new states would let an
 * attacker block every sign-in. With deletion, an attacker who wants to stop a person must create as many states as
 * the limit in the minute that a sign-in takes.
 */
function openPruning({ perNetwork, total }: AnonymousLimits): (network: string) => Work<void> {
  let puts = 0
  return function* (network) {
    yield deleteBeyond(sql`network = ${network}`, perNetwork)
    if (puts++ % putsPerTotalCheck === 0) yield deleteBeyond(raw('anonymous_time is not null'), total)
  }
}

const deleteBeyond = (condition: Sql, limit: number) =>
  sql`delete from sign_in_states where id in (select id from sign_in_states where ${condition}
    order by anonymous_time desc limit ${deletionBatch} offset ${limit})`

/** As selected below. */
type Columns = [
  digest: string,
  sealed: Uint8Array,
  identity: string | null,
  useTime: number | null,
  signOutSecond: number | null,
]

function* findWhere({ secret, now }: StateDependencies, condition: Sql): Work<ExpiringState | undefined> {
  const row = yield* first(sql`select s.id, s.sealed, s.identity, s.use_time, o.second
    from sign_in_states s left join sign_outs o on o.identity = s.identity
    where ${condition} and s.expire_time > ${now()}`)
  if (!row) return undefined
  const [digest, sealed, identity, useTime, signOutSecond] = row as Columns
  return {
    payload: JSON.parse(secret.unwrap(purposeOf(digest), sealed).toString()) as Payload,
    identity: identity ?? undefined,
    useTime: useTime ?? undefined,
    signOutSecond: signOutSecond ?? undefined,
  }
}

/** Deletes a batch of expired states, refresh tokens and ended sign-ins. Returns whether there may be more. */
export function* deleteExpired(now: number): Work<boolean> {
  let mayBeMore = false
  for (const table of ['sign_in_states', 'refresh_tokens', 'ended_sign_ins']) {
    const rows = yield sql`delete from ${raw(table)} where id in
      (select id from ${raw(table)} where expire_time < ${now} limit ${deletionBatch}) returning id`
    mayBeMore ||= rows.length === deletionBatch
  }
  return mayBeMore
}
