// Passkeys in the store.
import { failedPrecondition, notFound } from '../../aip/errors.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all, first } from '../../store/work.ts'
import { lockPerson } from './lock-person.ts'

export type Passkey = {
  /** The credential id in base64url. */
  id: string
  identity: string
  name: string
  publicKey: Uint8Array<ArrayBuffer>
  counter: number
  transports: string[]
  isSynced: boolean
  /** In milliseconds since 1970. */
  createTime: number
  useTime: number | undefined
}

export const maxPasskeys = 20

const selectPasskeys = sql`select id, identity, name, public_key, counter, transports, is_synced, create_time, use_time from passkeys`

type Columns = [
  ...[id: string, identity: string, name: string, publicKey: Uint8Array, counter: number, transports: string],
  ...[isSynced: number, createTime: number, useTime: number | null],
]

function passkeyOf(row: readonly unknown[]): Passkey {
  const [id, identity, name, publicKey, counter, transports, isSynced, createTime, useTime] = row as Columns
  return {
    ...{ id, identity, name, publicKey: new Uint8Array(publicKey), counter, createTime },
    transports: transports.split(' ').filter(Boolean),
    ...{ isSynced: isSynced === 1, useTime: useTime ?? undefined },
  }
}

/** The oldest first. */
export function* passkeysOf(identity: string): Work<Passkey[]> {
  const rows = yield* all(sql`${selectPasskeys} where identity = ${identity} order by create_time, id`)
  return rows.map(passkeyOf)
}

export function* findPasskey(id: string): Work<Passkey | undefined> {
  const row = yield* first(sql`${selectPasskeys} where id = ${id}`)
  return row && passkeyOf(row)
}

export function* insertPasskey(passkey: Passkey): Work<void> {
  const { id, identity, name, publicKey, counter, transports, isSynced, createTime } = passkey
  yield* lockPerson(identity) // so that the count is right
  if ((yield* passkeysOf(identity)).length >= maxPasskeys)
    throw failedPrecondition(
      'TOO_MANY_PASSKEYS',
      `an account can have ${maxPasskeys} passkeys; remove one before you add another`,
    )
  const rows = yield sql`insert into passkeys
    (id, identity, name, public_key, counter, transports, is_synced, create_time)
    values (${id}, ${identity}, ${name}, ${publicKey}, ${counter}, ${transports.join(' ')}, ${isSynced ? 1 : 0},
      ${createTime}) on conflict (id) do nothing returning id`
  if (rows.length === 0) throw failedPrecondition('PASSKEY_EXISTS', 'this passkey is registered already')
}

/**
 * Records a use. Returns false if the passkey is gone, or if its counter is not higher than at the
 * last use: then the authenticator may have been copied (WebAuthn Level 3, 6.1.1). Authenticators
 * without a counter always send 0.
 */
export function* recordPasskeyUse(id: string, counter: number, now: number): Work<boolean> {
  const isPlausible = counter === 0 ? sql`counter = 0` : sql`counter < ${counter}`
  const rows = yield sql`update passkeys set counter = ${counter}, use_time = ${now}
    where id = ${id} and ${isPlausible} returning id`
  return rows.length > 0
}

export function* renamePasskey(identity: string, id: string, name: string): Work<Passkey> {
  const [row] = yield sql`update passkeys set name = ${name}
    where id = ${id} and identity = ${identity} returning id`
  const passkey = row && (yield* findPasskey(id))
  if (!passkey) throw noPasskey(id)
  return passkey
}

export function* removePasskey(identity: string, id: string): Work<void> {
  const [row] = yield sql`delete from passkeys where id = ${id} and identity = ${identity} returning id`
  if (!row) throw noPasskey(id)
}

/** The same error whether it does not exist or belongs to somebody else. */
const noPasskey = (id: string) => notFound('platform.iam.v2beta1.Passkey', id)
