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
  /** What its organization is called. */
  organization: string
  /** The domain that its organization is verified to own. */
  domain: string | undefined
}

/** What their client secrets are sealed for. */
export const providerSecretPurpose = 'identity provider'

const mostWithOneIssuer = 1000

/** Those that a condition finds, in the order in which they were made. `p` is the provider, `o` its organization. */
async function select(store: Store, condition: Sql): Promise<KnownProvider[]> {
  const rows = await store.query(sql`select p.uid, p.proto, p.client_secret, p.update_time, o.name, o.domain
    from identity_providers p join groups o on o.uid = p.root
    where ${condition} order by p.create_time, p.uid limit ${mostWithOneIssuer}`)
  return rows.flatMap(providerOf)
}

function providerOf(row: Row): KnownProvider[] {
  const [uid, proto, sealedSecret, updateTime, ...about] = row as [
    string,
    Uint8Array,
    string,
    number,
    ...string[],
  ]
  const [organization = '', domain] = about
  const { configuration } = fromBinary(IdentityProviderSchema, proto)
  if (configuration.case !== 'oidc') return []
  const known = { uid, configuration: configuration.value, sealedSecret, updateTime, organization }
  return [{ ...known, domain: domain ?? undefined }]
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

/** The person whom a verified token of this provider names. */
export function personOf({ configuration, domain }: KnownProvider, claims: Claims): Person {
  const { issuer, correlationRule } = configuration
  if (correlationRule !== CorrelationRule.OID_EQUALS_EXTERNAL_ID) return personBy(issuer, claims, domain)
  // Not mistaken for a subject.
  return { ...personBy(issuer, claims, domain), subject: `oid:${plain('oid', claims.oid)}` }
}

/** The person whom a token names, by its subject. `domain` is what its issuer speaks for. */
export function personBy(issuer: string, claims: Claims, domain: string | undefined): Person {
  const subject = plain('sub', claims.sub)
  const emails = emailsOf(claims, domain)
  const name = nameOf(claims) ?? emails.email ?? emails.emailUnverified ?? subject
  return { issuer, subject, name, ...emails, speaksFor: domain }
}

/** Refused in words for the log; what it becomes for people is up to who asks. */
function plain(name: string, value: unknown): string {
  if (typeof value === 'string' && /^[^\p{C}]{1,255}$/u.test(value)) return value
  throw new Error(`the provider says no ${name} that can be kept`)
}

/** The domain of an address that an issuer says is its bearer's. */
export const domainOf = ({ email }: Claims) =>
  typeof email === 'string' ? email.slice(email.lastIndexOf('@') + 1).toLowerCase() : undefined

/** An organization speaks for addresses of the domain that it is verified to own, and for no others. */
function emailsOf(claims: Claims, domain: string | undefined): Partial<Person> {
  const { email, email_verified: isVerified } = claims
  if (typeof email !== 'string' || !/^[^\s\p{C}]{1,255}$/u.test(email)) return {}
  const isOwn = domain !== undefined && domainOf(claims) === domain
  return isOwn && (isVerified === true || isVerified === 'true') ? { email } : { emailUnverified: email }
}

function nameOf({ name }: Claims): string | undefined {
  const text = typeof name === 'string' ? name.replace(/\p{C}/gu, ' ').trim().slice(0, 255) : ''
  return text === '' ? undefined : text
}
