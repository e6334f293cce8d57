// The public keys of other issuers, found by their discovery documents and remembered for a while.
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { createLocalJWKSet } from 'jose'
import type { IssuerRule } from '../claims/issuer.ts'
import { issuerFault, isTrustedIssuer } from '../claims/issuer.ts'
import type { Outbound } from './outbound.ts'
import { OutboundError } from './outbound.ts'

export type IssuerKeys = {
  /** The keys of an issuer. `isUnknownKey`: those at hand did not fit, so perhaps there are new ones. */
  find(issuer: string, isUnknownKey?: boolean): Promise<JWTVerifyGetKey>
}

const minute = 60_000
const fresh = 10 * minute
const stale = 24 * 60 * minute
/** After which an unknown key is worth asking again. */
const coolDown = minute / 2
/** How long an issuer that could not be asked is left alone. */
const sulk = minute
const mostIssuers = 1000
const mostKeys = 100

type Known = {
  keys: JWTVerifyGetKey | undefined
  fetched: number
  failure: OutboundError | undefined
  failed: number
  pending: Promise<void> | undefined
}

export function openIssuerKeys(outbound: Outbound, rule: IssuerRule, now: () => number): IssuerKeys {
  const known = new Map<string, Known>()

  function entryOf(issuer: string): Known {
    const entry = known.get(issuer) ?? newEntry()
    // Put last again, so that those nobody asks for go first.
    known.delete(issuer)
    if (known.size >= mostIssuers) known.delete(known.keys().next().value as string) // not empty
    known.set(issuer, entry)
    return entry
  }

  async function refresh(issuer: string, entry: Known): Promise<void> {
    try {
      entry.keys = await fetchKeys(outbound, issuer, rule)
      entry.fetched = now()
      entry.failure = undefined
    } catch (error) {
      entry.failed = now()
      entry.failure = error instanceof OutboundError ? error : new OutboundError(String(error))
    } finally {
      entry.pending = undefined
    }
  }

  return {
    async find(issuer, isUnknownKey = false) {
      const fault = issuerFault(issuer, rule)
      if (fault) throw new OutboundError(`the issuer ${fault}`)
      const entry = entryOf(issuer)
      const age = now() - entry.fetched
      const isWanted = !entry.keys || age > fresh || (isUnknownKey && age > coolDown)
      const isSulking = entry.failure && now() - entry.failed < sulk
      if (isWanted && !isSulking) {
        // However many ask at once, one of them fetches.
        entry.pending ??= refresh(issuer, entry)
        await entry.pending
      }
      if (!entry.keys || now() - entry.fetched > stale)
        throw entry.failure ?? new OutboundError(`no keys of ${issuer}`)
      return entry.keys
    },
  }
}

const newEntry = (): Known => ({
  ...{ keys: undefined, fetched: Number.NEGATIVE_INFINITY, failure: undefined },
  ...{ failed: Number.NEGATIVE_INFINITY, pending: undefined },
})

async function fetchKeys(outbound: Outbound, issuer: string, rule: IssuerRule): Promise<JWTVerifyGetKey> {
  const isTrusted = isTrustedIssuer(issuer, rule)
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = asObject(await outbound(address, isTrusted), address)
  if (document.issuer !== issuer) throw new OutboundError(`${address} is of another issuer`)
  const keysAt = document.jwks_uri
  if (typeof keysAt !== 'string' || !URL.canParse(keysAt))
    throw new OutboundError(`${address} does not say where the keys are`)
  // Trust in an issuer does not extend to wherever it points.
  const isSameHost = new URL(keysAt).origin === new URL(issuer).origin
  const { keys } = asObject(await outbound(keysAt, isTrusted && isSameHost), keysAt)
  if (!Array.isArray(keys)) throw new OutboundError(`${keysAt} holds no keys`)
  const usable = keys.slice(0, mostKeys).filter((key) => key?.kty !== 'oct')
  try {
    return createLocalJWKSet({ keys: usable } as JSONWebKeySet)
  } catch (cause) {
    throw new OutboundError(`${keysAt} holds no keys`, { cause })
  }
}

function asObject(value: unknown, address: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new OutboundError(`${address} is no JSON object`)
}
