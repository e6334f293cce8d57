// The person that a token for registration belongs to.
import { fromBinary } from '@bufbuild/protobuf'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import type { Claims } from '../../../claims/match.ts'
import type { Store } from '../../../store/db.ts'
import { sql } from '../../../store/sql.ts'
import type { Person } from '../../../wire/person.ts'
import type { IssuerKeys } from '../../foreign-tokens/issuer-keys.ts'
import { readUnverified } from '../../foreign-tokens/read.ts'
import { issuedAtOf, verifyByDiscovery } from '../../foreign-tokens/verify.ts'
import type { VerifyOwn } from '../../tokens/verify-own.ts'
import type { ProvidedPerson } from '../people.ts'
import type { KnownProvider } from '../upstream/known-providers.ts'
import {
  findProvidersOfClients,
  findVerifyingProvider,
  isIssuerOfProvider,
} from '../upstream/known-providers.ts'
import { emailDomainOf, externalIdOf, personBySubject, personOf } from '../upstream/person.ts'

export type RegistrantDependencies = {
  store: Store
  verifyOwn: VerifyOwn
  issuerKeys: IssuerKeys
  authUrl: string
  baseUrl: string
  now(): number
}

/** The error for every token that cannot be used. It does not say why; the cause is for the log. */
const refused = (cause: string) =>
  new StatusError(Code.PERMISSION_DENIED, 'nobody can be registered with this token', {
    cause: new Error(cause),
  })

/**
 * A person of another issuer, registered or not. If the token was issued to the client of one or
 * more providers, `provided` has the person that each of them identifies. Otherwise the subject of
 * the token identifies the person. `issuedAt` is the time of the token, in seconds since 1970.
 */
export type ForeignPerson = { issuedAt: number } & (
  | { provided: readonly ProvidedPerson[] }
  | { person: Person }
)

/** The identity that one of our own tokens belongs to, or a person of another issuer. */
export async function findRegistrant(
  deps: RegistrantDependencies,
  token: string,
): Promise<ForeignPerson | Identity> {
  const { iss } = readUnverified(token)
  return iss === deps.authUrl
    ? findOwnPerson(deps.store, await deps.verifyOwn(token))
    : findForeignPerson(deps, token, iss)
}

async function findOwnPerson(store: Store, { sub, scopes, cap }: Claims): Promise<Identity> {
  // A limited token must not accept invites, which could grant more than its limits allow.
  if (parentOf(sub) !== '' || scopes || cap)
    throw refused('the token has limits, or is not the token of a person')
  const [row] = await store.query(sql`select proto from identities where uid = ${sub}`)
  if (!row) throw refused('the identity was deleted')
  return fromBinary(IdentitySchema, row[0] as Uint8Array)
}

async function findForeignPerson(
  deps: RegistrantDependencies,
  token: string,
  issuer: string,
): Promise<ForeignPerson> {
  const { store, issuerKeys, now } = deps
  // Checked before any request is sent, so that a stranger's token cannot make us call a host of their choice.
  if (!(await isIssuerOfProvider(store, issuer)))
    throw refused(`no provider has the issuer ${issuer.slice(0, 200)}`)
  const claims = await verifyByDiscovery(token, issuer, issuerKeys, now())
  try {
    return await personFor(deps, issuer, claims)
  } catch (error) {
    throw error instanceof StatusError ? error : refused((error as Error).message)
  }
}

/**
 * If the token was issued to the client of a provider, the rules of that provider identify the person. If it was issued
 * for this server, its subject does.
 */
async function personFor(
  { store, authUrl, baseUrl }: RegistrantDependencies,
  issuer: string,
  claims: Claims,
): Promise<ForeignPerson> {
  const audiences = [claims.aud].flat()
  const emailDomain = emailDomainOf(claims)
  const ownsEmailDomain = ({ domain }: KnownProvider) => domain !== undefined && domain === emailDomain
  const providers = await findProvidersOfClients(store, issuer, audiences)
  if (providers.length > 0) {
    const ordered = providers.toSorted((a, b) => Number(ownsEmailDomain(b)) - Number(ownsEmailDomain(a)))
    return { issuedAt: issuedAtOf(claims), provided: candidatesOf(ordered, claims) }
  }
  const ownAudiences = [authUrl, baseUrl, new URL(authUrl).host]
  if (!audiences.some((audience) => ownAudiences.includes(audience)))
    throw refused('the token is for another audience')
  const verifying = emailDomain && (await findVerifyingProvider(store, issuer, emailDomain))
  const person = personBySubject(issuer, claims, verifying ? verifying.domain : undefined)
  return { person, issuedAt: issuedAtOf(claims) }
}

/** Omits providers that require a claim which the token lacks. Throws if this omits all. */
function candidatesOf(providers: readonly KnownProvider[], claims: Claims): ProvidedPerson[] {
  const candidates: ProvidedPerson[] = []
  let fault: unknown
  for (const provider of providers)
    try {
      const person = personOf(provider, claims)
      candidates.push({ person, provider: provider.uid, externalId: externalIdOf(provider, person) })
    } catch (error) {
      fault ??= error
    }
  if (candidates.length === 0) throw fault
  return candidates
}
