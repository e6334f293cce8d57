// What the providers of organizations say of people, and how far they are believed.
import { fromBinary } from '@bufbuild/protobuf'
import type { IdentityProvider_OIDC } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import {
  IdentityProvider_OIDC_CorrelationRule as CorrelationRule,
  IdentityProviderSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import type { Store } from '../../store/db.ts'
import type { Row, Sql } from '../../store/sql.ts'
import { sql } from '../../store/sql.ts'
import type { Person } from './people.ts'

export type KnownProvider = {
  uid: string
  configuration: IdentityProvider_OIDC
  sealedSecret: string
  updateTime: number
  /** The domain that its organization is verified to own. */
  domain: string | undefined
}

/** What their client secrets are sealed for. */
export const providerSecretPurpose = 'identity provider'

const mostWithOneIssuer = 100

/** Those that a condition finds, in the order in which they were made. `p` is the provider, `o` its organization. */
async function select(store: Store, condition: Sql): Promise<KnownProvider[]> {
  const rows = await store.query(sql`select p.uid, p.proto, p.client_secret, p.update_time, o.domain
    from identity_providers p join groups o on o.uid = p.root
    where ${condition} order by p.create_time, p.uid limit ${mostWithOneIssuer}`)
  return rows.flatMap(providerOf)
}

function providerOf(row: Row): KnownProvider[] {
  const [uid, proto, sealedSecret, updateTime, domain] = row as [
    string,
    Uint8Array,
    string,
    number,
    string | null,
  ]
  const { configuration } = fromBinary(IdentityProviderSchema, proto)
  if (configuration.case !== 'oidc') return []
  return [{ uid, configuration: configuration.value, sealedSecret, updateTime, domain: domain ?? undefined }]
}

export const findProviders = (store: Store, issuer: string) => select(store, sql`p.issuer = ${issuer}`)

/** By its uid. */
export const findProvider = async (store: Store, uid: string) => (await select(store, sql`p.uid = ${uid}`))[0]

/** The first one in an organization that is verified under this name. */
export const findProviderOf = async (store: Store, organization: string) =>
  (await select(store, sql`o.domain = ${organization.toLowerCase()} and p.parent = o.uid`))[0]

export async function isAnyProvider(store: Store): Promise<boolean> {
  const rows = await store.query(sql`select 1 from identity_providers p
    join groups o on o.uid = p.parent where o.domain is not null limit 1`)
  return rows.length > 0
}

type Claims = { [name: string]: unknown; sub: string }

/** The person whom a verified token names. */
export function personOf({ configuration, domain }: KnownProvider, claims: Claims): Person {
  const { issuer, correlationRule } = configuration
  const emails = emailsOf(claims, domain)
  const name = nameOf(claims) ?? emails.email ?? emails.emailUnverified ?? claims.sub
  return { issuer, subject: subjectOf(claims, correlationRule), name, ...emails }
}

/** An organization speaks for addresses of the domain that it is verified to own, and for no others. */
function emailsOf(
  { email, email_verified: isVerified }: Claims,
  domain: string | undefined,
): Partial<Person> {
  if (typeof email !== 'string' || email.length > 255 || /[\s\p{C}]/u.test(email)) return {}
  const isOwn = domain !== undefined && email.toLowerCase().endsWith(`@${domain}`)
  return isOwn && isVerified !== false ? { email } : { emailUnverified: email }
}

/** Told apart by the subject, or by another claim, which is not mistaken for a subject. */
function subjectOf({ sub, oid }: Claims, rule: CorrelationRule): string {
  if (rule !== CorrelationRule.OID_EQUALS_EXTERNAL_ID) return sub
  if (typeof oid !== 'string' || oid === '' || oid.length > 255)
    throw new Error('the provider does not say the oid')
  return `oid:${oid}`
}

function nameOf({ name }: Claims): string | undefined {
  const text = typeof name === 'string' ? name.replace(/\p{C}/gu, ' ').trim().slice(0, 255) : ''
  return text === '' ? undefined : text
}
