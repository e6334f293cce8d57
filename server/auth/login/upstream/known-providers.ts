// The identity providers of organizations, as they are stored.
import { fromBinary } from '@bufbuild/protobuf'
import type { IdentityProvider_OIDC } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { IdentityProviderSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { isUid } from '../../../aip/uid.ts'
import type { Store } from '../../../store/db.ts'
import type { Row, Sql } from '../../../store/sql.ts'
import { among, sql } from '../../../store/sql.ts'

export type KnownProvider = {
  uid: string
  configuration: IdentityProvider_OIDC
  /** The client secret, encrypted for `providerSecretPurpose`; empty if there is none. */
  sealedSecret: string
  updateTime: number
  /** The name of the organization that the provider belongs to. */
  organization: string
  /**
   * The domain whose e-mail addresses this provider may verify: the domain of its organization, if the provider is
   * directly in the organization. A provider of a sub-group may verify no addresses, since the administrators of a
   * sub-group may not act for the whole domain.
   */
  domain: string | undefined
}

export const providerSecretPurpose = 'identity provider'

const maxProviders = 1000
/** Audiences of a token that are compared with the clients of providers. */
const maxAudiences = 20

/**
 * Sorted: providers that may verify addresses before others, then older ones before newer ones. In the condition, `p`
 * is the provider and `o` its organization.
 */
async function select(store: Store, condition: Sql): Promise<KnownProvider[]> {
  const rows = await store.query(sql`select p.uid, p.proto, p.client_secret, p.update_time, o.name,
    case when p.parent = o.uid then o.domain end
    from identity_providers p join groups o on o.uid = p.root
    where ${condition} order by case when p.parent = o.uid and o.domain is not null then 0 else 1 end, p.create_time, p.uid limit ${maxProviders}`)
  return rows.flatMap(providerOf)
}

/** The columns that `select` reads. */
type Columns = [
  uid: string,
  proto: Uint8Array,
  sealedSecret: string,
  updateTime: number,
  organization: string,
  domain: string | null,
]

function providerOf(row: Row): KnownProvider[] {
  const [uid, proto, sealedSecret, updateTime, organization, domain] = row as Columns
  const { configuration } = fromBinary(IdentityProviderSchema, proto)
  if (configuration.case !== 'oidc') return []
  return [
    {
      ...{ uid, configuration: configuration.value, sealedSecret, updateTime, organization },
      domain: domain ?? undefined,
    },
  ]
}

/**
 * The providers of this issuer whose client id is an audience of the token. Other providers of the
 * issuer are not read: anyone can create thousands of them, and the limit would leave out the right
 * one. `uid` is the provider to use; empty for any.
 */
export async function findProvidersOfClients(
  store: Store,
  issuer: string,
  audiences: readonly string[],
  uid = '',
): Promise<KnownProvider[]> {
  const condition = sql`p.issuer = ${issuer} and p.client_id in ${among(audiences.slice(0, maxAudiences))}`
  if (uid === '') return select(store, condition)
  return isUid(uid) ? select(store, sql`${condition} and p.uid = ${uid}`) : []
}

/** PostgreSQL refuses text with NUL, and no stored value contains it. */
const isStorable = (text: string) => !text.includes('\0')

export async function isIssuerOfProvider(store: Store, issuer: string): Promise<boolean> {
  const rows = await store.query(sql`select 1 from identity_providers where issuer = ${issuer} limit 1`)
  return rows.length > 0
}

/** The oldest provider with this issuer that may verify addresses of the domain. */
export const findVerifyingProvider = async (store: Store, issuer: string, domain: string) =>
  isStorable(domain)
    ? (await select(store, sql`p.issuer = ${issuer} and o.domain = ${domain} and p.parent = o.uid`))[0]
    : undefined

export const findProviderByUid = async (store: Store, uid: string) =>
  (await select(store, sql`p.uid = ${uid}`))[0]

/** The oldest provider of the organization that is verified to own the domain. */
export const findProviderByDomain = async (store: Store, domain: string) =>
  (await select(store, sql`o.domain = ${domain.toLowerCase()} and p.parent = o.uid`))[0]

/** Whether any verified organization has a provider. */
export async function hasAnyProvider(store: Store): Promise<boolean> {
  const rows = await store.query(sql`select 1 from identity_providers p
    join groups o on o.uid = p.parent where o.domain is not null limit 1`)
  return rows.length > 0
}
