// Credentials of an identity: the user name is its uid, and the password is a token that the
// identity accepts, such as the token of a CI job or a pull token. They are verified as in a
// token exchange, and the limits on exchanges apply.
import { Code } from '../../aip/code.ts'
import { StatusError, unauthenticated } from '../../aip/errors.ts'
import { isUid } from '../../aip/uid.ts'
import { BoundedMap } from '../../bounded-map.ts'
import { digestOf } from '../../crypto/digest.ts'
import type { Assume } from '../exchange/assume.ts'
import type { AssumedIdentity } from '../exchange/assumed-identity.ts'
import { readCredential } from '../exchange/credential.ts'
import { throttledExchange } from '../exchange/failed-exchanges.ts'
import type { Throttle } from '../throttle.ts'
import type { BasicCredentials } from './basic-credentials.ts'
import type { KnownCaller } from './known-caller.ts'

const maxCached = 10_000
/** For this long, in milliseconds, a password that was accepted is not verified again. */
const cacheMs = 300_000

/** `until` is when the password must be verified again, in milliseconds since 1970. */
type Accepted = { known: KnownCaller; until: number }

export type IdentityPasswords = {
  /**
   * The cached result for credentials that were accepted before. `time` is when they must be valid; by default now.
   */
  find(credentials: BasicCredentials, time?: number): KnownCaller | undefined
  /** Fails with the same error whether the identity does not exist or does not accept the password. */
  verify(credentials: BasicCredentials, address: string): Promise<KnownCaller>
}

export function openIdentityPasswords({
  assume,
  throttle,
  now,
}: {
  assume: Assume
  throttle: Throttle
  now(): number
}): IdentityPasswords {
  const accepted = new BoundedMap<string, Accepted>(maxCached)
  const keyOf = ({ user, password }: BasicCredentials) => digestOf(`${user}\n${password}`)

  async function assumeBy({ user: identity, password }: BasicCredentials): Promise<KnownCaller> {
    if (!isUid(identity)) throw unauthenticated('the user name is not a uid')
    const requested = { identity, identityProvider: '', mayBePullToken: true }
    const assumed = await assume(readCredential(password), requested)
    const [time, expires] = [now(), expiryOf(assumed)]
    // The exchange accepts recently expired tokens, as clocks differ. The registry refuses them.
    if (expires <= time) throw unauthenticated('the password has expired')
    return { caller: callerOf(assumed, time), expires }
  }

  return {
    find(credentials, time = now()) {
      const entry = accepted.get(keyOf(credentials))
      return entry && entry.until > time ? entry.known : undefined
    },
    async verify(credentials, address) {
      const { user: identity, password: bearer } = credentials
      const run = () => assumeBy(credentials).catch(hideReason)
      const known = await throttledExchange(throttle, { address, bearer, identity }, run)
      accepted.set(keyOf(credentials), { known, until: Math.min(now() + cacheMs, known.expires) })
      return known
    },
  }
}

const expiryOf = ({ expires, credentialExpires }: AssumedIdentity) =>
  Math.min(expires, credentialExpires) * 1000

const callerOf = ({ identity, signIn, limits }: AssumedIdentity, now: number): KnownCaller['caller'] => ({
  ...{ identity, issuedAt: Math.floor(now / 1000) },
  ...(signIn && { signIn }),
  ...(Object.keys(limits).length > 0 && { limits }),
})

/** The cause is for the log. */
const wrongCredentials = (cause: Error) =>
  unauthenticated('the user name or the password is wrong', 'error="invalid_token"', cause)

const hidden = new Set<Code>([Code.UNAUTHENTICATED, Code.PERMISSION_DENIED])

function hideReason(error: unknown): never {
  throw error instanceof StatusError && hidden.has(error.code) ? wrongCredentials(error) : error
}
