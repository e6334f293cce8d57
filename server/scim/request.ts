// A request to an endpoint, after authentication, and its response.
import type { RandomBytes } from '../crypto/random.ts'
import type { Store } from '../store/db.ts'
import type { Resource } from './schema/schema.ts'

export type ScimDependencies = {
  store: Store
  now(): number
  random: RandomBytes
  onIgnoredMembers(event: { provider: string; count: number }): void
}

export type ScimRequest = {
  method: string
  /** The uid of the identity provider. */
  provider: string
  /** The URL of the endpoints of the provider. */
  base: string
  /** The segments after the base. */
  endpoint: readonly string[]
  query: URLSearchParams
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
  address: string
  userAgent: string | undefined
  body(): Promise<Resource>
}

export type ScimResponse = {
  status: number
  body?: unknown
  headers?: Readonly<Record<string, string>>
}
