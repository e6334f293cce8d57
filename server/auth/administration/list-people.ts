// The people whom the server knows, for its operators.
import { fromBinary } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'

export type ListedPerson = {
  identity: string
  name: string
  /** The address with which the person signs in, or which their provider has verified. */
  email: string | undefined
  /** Whether nobody has verified the address. */
  isUnverified: boolean
  /** Whether the person has a local account, and not only one at a provider or another issuer. */
  hasLocalAccount: boolean
  /** Whether a local account has a password. It has none until the person opens the link of the operator. */
  hasPassword: boolean
  passkeys: number
  hasAuthenticatorApp: boolean
  /** In milliseconds since 1970, as all times here. */
  createTime: number
  disableTime: number | undefined
}

export type PeopleQuery = {
  limit: number
  /** Only people whose uid follows this one. */
  after?: string | undefined
  /** Only people whose name or address of a local account contains this text, in any case. */
  search?: string | undefined
  /** Only people who are disabled. */
  isDisabled?: boolean | undefined
}

/** The columns that `listPeople` selects. */
type Columns = [
  ...[identity: string, proto: Uint8Array, createTime: number, disabledSecond: number | null],
  ...[vouched: string | null, vouchedPassword: string | null],
  ...[claimed: string | null, claimedPassword: string | null],
  ...[passkeys: number, apps: number],
]

/** People in the order of their uids. A search reads all people. */
export function* listPeople({
  limit,
  after = '',
  search = '',
  isDisabled,
}: PeopleQuery): Work<ListedPerson[]> {
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  const matches = sql`(lower(i.name) like ${pattern} escape '\\' or lower(a.email) like ${pattern} escape '\\'
    or lower(c.email) like ${pattern} escape '\\')`
  const rows = yield* all(sql`select i.uid, i.proto, i.create_time, o.disabled_second,
    a.email, a.password, c.email, c.password,
    (select count(*) from passkeys k where k.identity = i.uid),
    (select count(*) from authenticator_apps t where t.identity = i.uid and t.confirm_time is not null)
    from identities i left join sign_outs o on o.identity = i.uid
    left join accounts a on a.identity = i.uid left join claimed_accounts c on c.identity = i.uid
    where i.parent is null and i.uid > ${after} and ${search === '' ? raw('1 = 1') : matches}
    and ${isDisabled ? raw('o.disabled_second is not null') : raw('1 = 1')}
    order by i.uid limit ${limit}`)
  return rows.map((row) => personOf(row as Columns))
}

function personOf([identity, proto, createTime, disabledSecond, ...accounts]: Columns): ListedPerson {
  const [vouched, vouchedPassword, claimed, claimedPassword, passkeys, apps] = accounts
  const { name, email } = fromBinary(IdentitySchema, proto)
  const verified = vouched ?? email
  return {
    ...{ identity, name, email: verified ?? claimed ?? undefined, createTime },
    isUnverified: !verified && claimed !== null,
    hasLocalAccount: vouched !== null || claimed !== null,
    hasPassword: Boolean(vouchedPassword || claimedPassword),
    ...{ passkeys: Number(passkeys), hasAuthenticatorApp: Number(apps) > 0 },
    disableTime: disabledSecond === null ? undefined : disabledSecond * 1000,
  }
}
