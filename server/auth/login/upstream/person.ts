// The person that a provider's token names. Decides which claims of the token are trusted.
import { IdentityProvider_OIDC_CorrelationRule as CorrelationRule } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import type { Person } from '../../../wire/person.ts'
import type { KnownProvider } from './known-providers.ts'

type IdTokenClaims = { [name: string]: unknown; sub: string }

/** The person that a verified token of this provider names. */
export function personOf({ configuration, domain }: KnownProvider, claims: IdTokenClaims): Person {
  const { issuer, correlationRule } = configuration
  const person = personBySubject(issuer, claims, domain)
  if (correlationRule !== CorrelationRule.OID_EQUALS_EXTERNAL_ID) return person
  // The prefix keeps an oid from being mistaken for the subject of another person.
  return { ...person, subject: `${oidPrefix}${requireText('oid', claims.oid)}` }
}

const oidPrefix = 'oid:'

/**
 * The value of the claim that identifies the person (`correlationRule`). The SCIM user of the
 * person has the same value as its `externalId`.
 */
export const externalIdOf = ({ configuration }: KnownProvider, { subject }: Person) =>
  configuration.correlationRule === CorrelationRule.OID_EQUALS_EXTERNAL_ID
    ? subject.slice(oidPrefix.length)
    : subject

/**
 * The person that a token names by its subject. `domain` is the domain whose e-mail addresses the issuer may verify.
 */
export function personBySubject(issuer: string, claims: IdTokenClaims, domain: string | undefined): Person {
  const subject = requireText('sub', claims.sub)
  const emails = emailsOf(claims, domain)
  const name = nameOf(claims) ?? emails.email ?? emails.emailUnverified ?? subject
  return { issuer, subject, name, ...emails, verifiableDomain: domain }
}

/** The error is only logged: the caller catches it and shows another one to the person. */
function requireText(name: string, value: unknown): string {
  if (typeof value === 'string' && /^[^\p{C}]{1,255}$/u.test(value)) return value
  throw new Error(`the claim ${name} of the provider's token is missing or malformed`)
}

/** The domain of the e-mail address in a token. */
export const emailDomainOf = ({ email }: IdTokenClaims) =>
  typeof email === 'string' ? email.slice(email.lastIndexOf('@') + 1).toLowerCase() : undefined

/** A provider may verify only e-mail addresses of `domain`, which its organization is verified to own. */
function emailsOf(claims: IdTokenClaims, domain: string | undefined): Partial<Person> {
  const { email, email_verified: isVerified } = claims
  if (typeof email !== 'string' || !/^[^\s\p{C}]{1,255}$/u.test(email)) return {}
  const isOfDomain = domain !== undefined && emailDomainOf(claims) === domain
  return isOfDomain && (isVerified === true || isVerified === 'true') ? { email } : { emailUnverified: email }
}

function nameOf({ name }: IdTokenClaims): string | undefined {
  const text =
    typeof name === 'string' ? name.replace(/\p{C}/gu, ' ').trim().slice(0, 255).toWellFormed() : ''
  return text === '' ? undefined : text
}
