// The public keys of other issuers, cached for ten minutes, or for a day while the issuer cannot be reached.
import type { JWTVerifyGetKey } from 'jose'
import { BoundedMap } from '../../bounded-map.ts'
import type { IssuerRule } from '../../claims/issuer.ts'
import { issuerFault } from '../../claims/issuer.ts'
import type { FetchJson } from '../outbound/fetch-json.ts'
import { OutboundError } from '../outbound/outbound.ts'
import { discoverKeys } from './discover-keys.ts'

export type IssuerKeys = {
  /** The keys of an issuer. If `isUnknownKey`, no cached key matched the token, so the keys are fetched again. */
  find(issuer: string, isUnknownKey?: boolean): Promise<JWTVerifyGetKey>
}

const minute = 60_000
/** Keys younger than this are used without a request. */
const freshTime = 10 * minute
/** Keys older than this are not used, even if the issuer cannot be reached. */
const maxAge = 24 * 60 * minute
/** Keys younger than this are not fetched again for an unknown key: otherwise anyone could make us send requests. */
const unknownKeyPause = minute / 2
/** Negative cache: after a failure, an issuer is not asked again for this long. */
const failurePause = minute
const maxIssuers = 1000

type Entry = {
  keys: JWTVerifyGetKey | undefined
  fetchTime: number
  failure: OutboundError | undefined
  failureTime: number
  /** The request under way; concurrent callers share it. */
  pending: Promise<void> | undefined
}

export function openIssuerKeys(fetchJson: FetchJson, rule: IssuerRule, now: () => number): IssuerKeys {
  const entries = new BoundedMap<string, Entry>(maxIssuers)

  async function refresh(issuer: string, entry: Entry): Promise<void> {
    try {
      entry.keys = await discoverKeys(fetchJson, issuer, rule)
      entry.fetchTime = now()
      entry.failure = undefined
    } catch (error) {
      entry.failureTime = now()
      entry.failure = error instanceof OutboundError ? error : new OutboundError(String(error))
    } finally {
      entry.pending = undefined
    }
  }

  return {
    async find(issuer, isUnknownKey = false) {
      const fault = issuerFault(issuer, rule)
      if (fault) throw new OutboundError(`the issuer ${fault}`)
      const entry = entries.get(issuer) ?? newEntry()
      // Moves the entry to the end, so that the least recently used issuer is evicted.
      entries.set(issuer, entry)
      if (needsRefresh(entry, isUnknownKey, now())) {
        entry.pending ??= refresh(issuer, entry)
        await entry.pending
      }
      if (!entry.keys || now() - entry.fetchTime > maxAge)
        throw entry.failure ?? new OutboundError(`there are no keys of ${issuer}`)
      return entry.keys
    },
  }
}

const newEntry = (): Entry => ({
  ...{ keys: undefined, fetchTime: Number.NEGATIVE_INFINITY, failure: undefined },
  ...{ failureTime: Number.NEGATIVE_INFINITY, pending: undefined },
})

function needsRefresh(entry: Entry, isUnknownKey: boolean, now: number): boolean {
  const age = now - entry.fetchTime
  const isStale = !entry.keys || age > freshTime || (isUnknownKey && age > unknownKeyPause)
  const isPaused = entry.failure !== undefined && now - entry.failureTime < failurePause
  return isStale && !isPaused
}
