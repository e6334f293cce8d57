// Sign-in at the identity provider of an organization. The code calls such a provider "upstream".
import type * as oidc from 'openid-client'
import { Code } from '../../../aip/code.ts'
import { invalidField, StatusError } from '../../../aip/errors.ts'
import { isUid } from '../../../aip/uid.ts'
import { BoundedMap } from '../../../bounded-map.ts'
import type { IssuerRule } from '../../../claims/issuer.ts'
import type { RandomBytes } from '../../../crypto/random.ts'
import type { Sealer, Secret } from '../../../crypto/secret.ts'
import type { Store } from '../../../store/db.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import type { KnownProvider } from './known-providers.ts'
import { findProviderByDomain, findProviderByUid } from './known-providers.ts'

export type UpstreamDependencies = {
  store: Store
  secret: Secret
  /** Encrypts the state that the browser carries (authorization-state.ts). */
  sealer: Sealer
  /** Sends every request to a provider. */
  outbound: Outbound
  rule: IssuerRule
  authUrl: string
  now(): number
  random: RandomBytes
}

/** `lifetime` is in milliseconds, from `created`. */
export type CachedConfiguration = {
  created: number
  lifetime: number
  configuration: Promise<oidc.Configuration>
}

/** The dependencies, and a cache of the configurations of providers. */
export type Upstream = UpstreamDependencies & { configurations: BoundedMap<string, CachedConfiguration> }

const maxConfigurations = 200

export const openUpstream = (deps: UpstreamDependencies): Upstream => ({
  ...deps,
  configurations: new BoundedMap(maxConfigurations),
})

const unknownOrganization = () =>
  invalidField('organization', 'is not known here by this name; ask its administrator for the right one')

/** The person sees the same message for every cause; the cause is only logged. */
export const upstreamFailed = (cause: unknown) =>
  new StatusError(Code.UNAUTHENTICATED, 'the sign-in at your organization did not work; try again', { cause })

/** `reference` is the uid of a provider or the domain of an organization. */
export async function requireProvider(
  { store, authUrl }: UpstreamDependencies,
  reference: string,
): Promise<KnownProvider> {
  if (!/^[^\p{C}]{1,1000}$/u.test(reference)) throw unknownOrganization()
  const provider = await (isUid(reference)
    ? findProviderByUid(store, reference)
    : findProviderByDomain(store, reference))
  // This server is never its own provider: the sign-in would lead back to itself.
  if (!provider || provider.configuration.issuer === authUrl) throw unknownOrganization()
  return provider
}
