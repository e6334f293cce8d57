// Sign-in states that expire: sessions, codes, refresh tokens of oidc-provider, one-time links. A state is found by a
// secret that only its owner knows. The store contains the digest of the secret, and the encrypted payload. States of
// visitors who have not signed in are in sealed-states.ts, except device codes.
import { digestOf } from '../../crypto/digest.ts'
import type { Secret } from '../../crypto/secret.ts'
import { deleteExpiredMemberships } from '../../store/external-groups.ts'
import { endSignIn } from '../../store/sign-ins.ts'
import type { Sql } from '../../store/sql.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { Networks } from '../../wire/client-network.ts'
import type { DeviceCodeLimits } from './device-code-limits.ts'
import { defaultDeviceCodeLimits, enforceDeviceCodeLimits, storedNetworksOf } from './device-code-limits.ts'

export type Payload = Record<string, unknown>

export type ExpiringState = {
  payload: Payload
  identity: string | undefined
  /** When the state was used, in milliseconds since 1970. A state can be used once. */
  useTime: number | undefined
  /**
   * When the identity was last signed out, everywhere (sign-outs.ts) or by the identity provider of
   * the state (provider-sign-outs.ts), in seconds since 1970.
   */
  signedOutAt: number | undefined
}

/** Other keys by which a state can be found or deleted. */
export type StateKeys = {
  /** The id of the OAuth grant that the state belongs to. */
  grant?: string | undefined
  userCode?: string | undefined
  sessionUid?: string | undefined
  /** The identity that the state belongs to. The state is deleted with the identity. */
  identity?: string | undefined
  /** The identity provider that the identity signed in through. */
  provider?: string | undefined
  /** The networks of the client, for a device code without an identity. The number of such codes is limited. */
  networks?: Networks | undefined
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

type StateDependencies = { secret: Secret; now(): number; deviceCodeLimits?: DeviceCodeLimits }

export function openExpiringStates(deps: StateDependencies): ExpiringStates {
  const { now } = deps
  const limits = deps.deviceCodeLimits ?? defaultDeviceCodeLimits
  const findById = (kind: string, id: string) => findWhere(deps, sql`s.id = ${digestFor(kind, id)}`)
  return {
    *put(kind, id, payload, seconds, keys = {}) {
      if (keys.networks) {
        // A change of an existing code, as when a person enters it, is never refused. The code keeps its network.
        if (yield* replacePayload(deps, kind, id, payload)) return
        yield* enforceDeviceCodeLimits(limits, storedNetworksOf(keys.networks), now())
      }
      yield* put(deps, kind, id, payload, seconds, keys)
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

const deletionBatchSize = 1000

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
  const sealed = secret.seal(purposeOf(digest), Buffer.from(JSON.stringify(payload)))
  const digestIf = (keyKind: string, key: string | undefined) =>
    key === undefined ? null : digestFor(keyKind, key)
  const grant = keys.grant === undefined ? null : signInIdOf(keys.grant)
  const userCode = digestIf(`${kind} user code`, keys.userCode)
  const sessionUid = digestIf(`${kind} uid`, keys.sessionUid)
  const network = keys.networks ? storedNetworksOf(keys.networks) : null
  yield sql`insert into sign_in_states
    (id, sealed, grant_id, user_code, session_uid, identity, provider, network, expire_time)
    values (${digest}, ${sealed}, ${grant}, ${userCode}, ${sessionUid}, ${keys.identity ?? null},
      ${keys.provider ?? null}, ${network}, ${now() + seconds * 1000})
    on conflict (id) do update set sealed = excluded.sealed, grant_id = excluded.grant_id,
      user_code = excluded.user_code, session_uid = excluded.session_uid, identity = excluded.identity,
      provider = excluded.provider, network = excluded.network, expire_time = excluded.expire_time`
}

/** Replaces the payload of a state. Returns false if the state does not exist. */
function* replacePayload(
  { secret }: StateDependencies,
  kind: string,
  id: string,
  payload: Payload,
): Work<boolean> {
  const digest = digestFor(kind, id)
  const sealed = secret.seal(purposeOf(digest), Buffer.from(JSON.stringify(payload)))
  const rows = yield sql`update sign_in_states set sealed = ${sealed} where id = ${digest} returning id`
  return rows.length > 0
}

/** The columns that `findWhere` selects. */
type Columns = [
  digest: string,
  sealed: Uint8Array,
  identity: string | null,
  useTime: number | null,
  signedOutAt: number | null,
  providerSignedOutAt: number | null,
]

function* findWhere({ secret, now }: StateDependencies, condition: Sql): Work<ExpiringState | undefined> {
  const row = yield* first(sql`select s.id, s.sealed, s.identity, s.use_time, o.second, p.second
    from sign_in_states s left join sign_outs o on o.identity = s.identity
    left join provider_sign_outs p on p.identity = s.identity and p.provider = s.provider
    where ${condition} and s.expire_time > ${now()}`)
  if (!row) return undefined
  const [digest, sealed, identity, useTime, signedOutAt, providerSignedOutAt] = row as Columns
  const lastSignOut = Math.max(signedOutAt ?? -1, providerSignedOutAt ?? -1)
  return {
    payload: JSON.parse(secret.open(purposeOf(digest), sealed).toString()) as Payload,
    identity: identity ?? undefined,
    useTime: useTime ?? undefined,
    signedOutAt: lastSignOut < 0 ? undefined : lastSignOut,
  }
}

const expiringTables = [
  ...['sign_in_states', 'refresh_tokens', 'ended_sign_ins', 'idempotency_keys', 'sign_ins'],
]
/**
 * How long the record of a sign-in is kept after it has expired: longer than an access token is
 * valid, because changes of ownership read the record (resources/ownership.ts).
 */
const recordRetentionMs = 2 * 60 * 60 * 1000

/**
 * Deletes a batch of expired states, refresh tokens, records of sign-ins, ended sign-ins,
 * idempotency keys and memberships in external groups. Returns whether there may be more.
 */
export function* deleteExpired(now: number): Work<boolean> {
  let mayBeMore = yield* deleteExpiredMemberships(now, deletionBatchSize)
  for (const table of expiringTables) {
    const deadline = table === 'sign_ins' ? now - recordRetentionMs : now
    const rows = yield sql`delete from ${raw(table)} where id in
      (select id from ${raw(table)} where expire_time < ${deadline} limit ${deletionBatchSize}) returning id`
    mayBeMore ||= rows.length === deletionBatchSize
  }
  return mayBeMore
}
