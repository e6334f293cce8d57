// Refresh tokens in the store. All tokens that descend from one sign-in form a family, named after its first token.
import { fromBinary } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { digestOf, equalInConstantTime } from '../../crypto/digest.ts'
import { endSignIn } from '../../store/sign-ins.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { TokenContent } from './token-format.ts'

export type NewRow = {
  id: string
  family: string
  identity: string
  /** The identity provider of the sign-in; null for a sign-in with a password. */
  provider: string | null
  hasSecondFactor: boolean
  audience: string
  secret: string
  /** In milliseconds since 1970. */
  expires: number
}

export function* insertRow(row: NewRow): Work<void> {
  const { id, family, identity, provider, hasSecondFactor, audience, secret, expires } = row
  yield sql`insert into refresh_tokens
    (id, family, identity, provider, second_factor, audience, digest, expire_time)
    values (${id}, ${family}, ${identity}, ${provider}, ${hasSecondFactor ? 1 : 0}, ${audience},
      ${digestOf(secret)}, ${expires})`
}

export type StoredToken = {
  family: string
  identity: string
  provider: string | null
  hasSecondFactor: boolean
  audience: string
  /** In milliseconds since 1970. */
  expires: number
  isUsed: boolean
  /** When it was used, in milliseconds since 1970. Undefined also if an earlier version of the server marked it as used. */
  useTime: number | undefined
  /** The verified address of the identity. */
  email: string | undefined
  /**
   * The time of the last sign-out, everywhere (sign-outs.ts) or at the provider (provider-sign-outs.ts), in seconds since
   * 1970; 0 if there was none.
   */
  signedOutAt: number
}

/**
 * The row of a token, or the reason why it is refused. Locks the row of the family's first token, so that
 * concurrent uses of tokens of one family run one after the other.
 */
export function* findRow({ id, secret }: TokenContent): Work<StoredToken | string> {
  const member = yield* first(sql`select family from refresh_tokens where id = ${id}`)
  if (!member) return 'it does not exist'
  const family = member[0] as string
  yield sql`select id from refresh_tokens where id = ${family} /*pg for update */`
  const row =
    yield* first(sql`select t.identity, t.provider, t.second_factor, t.audience, t.digest, t.expire_time, t.is_used, t.use_time, i.proto,
    o.second, p.second
    from refresh_tokens t join identities i on i.uid = t.identity
    left join sign_outs o on o.identity = t.identity
    left join provider_sign_outs p on p.identity = t.identity and p.provider = t.provider where t.id = ${id}`)
  if (!row) return 'its family was ended'
  const [identity, provider, secondFactor, audience, digest, expires, isUsed, useTime, proto, ...signOuts] =
    row as Columns
  if (!equalInConstantTime(digest, digestOf(secret))) return 'its secret is wrong'
  return {
    ...{ family, identity, provider, hasSecondFactor: secondFactor === 1, audience, expires },
    ...{ isUsed: isUsed !== 0, useTime: useTime ?? undefined },
    email: fromBinary(IdentitySchema, proto).email,
    signedOutAt: Math.max(0, ...signOuts.map((second) => second ?? 0)),
  }
}

/** The columns that `findRow` selects. */
type Columns = [
  identity: string,
  provider: string | null,
  secondFactor: number,
  audience: string,
  digest: string,
  expires: number,
  isUsed: number,
  useTime: number | null,
  proto: Uint8Array,
  signedOutAt: number | null,
  providerSignedOutAt: number | null,
]

export function* markUsed(id: string, now: number): Work<void> {
  yield sql`update refresh_tokens set is_used = 1, use_time = ${now} where id = ${id}`
}

/** `issued` is in milliseconds since 1970. */
export type UnusedToken = { id: string; audience: string; digest: string; issued: number }

/** The token of a family that was not used yet. Each use issues one token, so there is only one. */
export function* findUnused(family: string): Work<UnusedToken | undefined> {
  const row = yield* first(sql`select t.id, t.audience, t.digest,
    (select max(u.use_time) from refresh_tokens u where u.family = ${family})
    from refresh_tokens t where t.family = ${family} and t.is_used = 0`)
  if (!row) return undefined
  const [id, audience, digest, issued] = row as [string, string, string, number]
  return { id, audience, digest, issued }
}

/** Ends a sign-in: its refresh tokens are deleted, and its access tokens stop working. */
export function* endFamily(family: string, now: number): Work<void> {
  yield* endSignIn(family, now)
  yield sql`delete from refresh_tokens where family = ${family}`
}
