// Assuming an identity: a token of somebody else's issuer goes in, one of ours comes out. The identity is known
// before anything is fetched, so that strangers cannot make us call hosts of their choice.
import { fromBinary } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { JWTVerifyGetKey } from 'jose'
import { createLocalJWKSet } from 'jose'
import { Code } from '../aip/code.ts'
import { invalidField, StatusError } from '../aip/errors.ts'
import { isUid, userUid } from '../aip/uid.ts'
import { acceptsIssuer, mismatchedClaim } from '../claims/match.ts'
import { openPatterns } from '../claims/pattern.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Narrowing } from '../wire/caller.ts'
import type { AskAws } from './aws.ts'
import { awsFault, isAwsIdentity, readAwsBearer } from './aws.ts'
import type { Claims } from './foreign-token.ts'
import {
  asUnverifiable,
  readUnverified,
  unverifiable,
  verifyByDiscovery,
  verifyForeign,
} from './foreign-token.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import type { KeyRing } from './keys.ts'
import { combine } from './narrowing.ts'
import { OutboundError } from './outbound.ts'
import type { VerifyOwn } from './own-token.ts'
import { givenAudiences, mintToken, narrowingOf, tokenLifetime } from './tokens.ts'

export type ExchangeOptions = {
  store: Store
  keys: KeyRing
  verifyOwn: VerifyOwn
  issuerKeys: IssuerKeys
  authUrl: string
  baseUrl: string
  now(): number
  /** Told of every identity that was assumed. */
  onSeen(identity: string): void
  askAws: AskAws
}

export type Asked = { identity: string; audiences: readonly string[]; narrowing: Narrowing }
export type Issued = { token: string; expiry: number }
export type Exchange = (bearer: string, asked: Asked) => Promise<Issued>

/** Who was found, for whom, and how far. */
type Finding = {
  identity: string
  email: string | undefined
  act: { iss: string; sub: string; aud: string }
  /** What the token that was presented was kept to itself. */
  narrowing: Narrowing
  /** When the new token ends at the latest, in seconds. */
  latest: number
}

/** One answer for an unknown identity, another issuer and other claims; the cause is for the log. */
const refused = (cause: string, text = 'no identity can be assumed with this token') =>
  new StatusError(Code.PERMISSION_DENIED, text, { cause: new Error(cause) })

export function openExchange(options: ExchangeOptions): Exchange {
  const { store, keys, verifyOwn, issuerKeys, authUrl, baseUrl, now, onSeen, askAws } = options
  const ownAudiences = [...new Set([authUrl, baseUrl, new URL(authUrl).host])]
  const patterns = openPatterns()
  const audiencesGiven = givenAudiences(baseUrl, authUrl)

  async function load(uid: string): Promise<Identity> {
    const [row] = isUid(uid) ? await store.query(sql`select proto from identities where uid = ${uid}`) : []
    if (!row) throw refused(`there is no identity ${uid.slice(0, 200)}`)
    return fromBinary(IdentitySchema, row[0] as Uint8Array)
  }

  async function verify(bearer: string, identity: Identity, claims: Claims): Promise<Claims> {
    const { relationship } = identity
    // Whatever keys an identity has, nobody else speaks in our name.
    if (claims.iss === authUrl) return verifyOwn(bearer)
    if (relationship.case === 'staticKeys') {
      const { issuerKeys: text, expirationTime } = relationship.value
      if (!expirationTime || timestampMs(expirationTime) <= now())
        throw refused('the static keys have expired')
      return verifyForeign(bearer, claims.iss, localKeys(text), now()).catch(asUnverifiable)
    }
    return verifyByDiscovery(bearer, claims.iss, issuerKeys, now())
  }

  async function findByToken(bearer: string, asked: Asked): Promise<Finding> {
    const unverified = readUnverified(bearer)
    const isOwn = unverified.iss === authUrl
    const bearerUid = isOwn ? unverified.sub : userUid(unverified.iss, unverified.sub)
    const identity = await load(asked.identity || bearerUid)
    // With a token of one's own, one may always have another that can do less.
    const isSelf = isOwn && unverified.sub === identity.uid
    if (!isSelf && !acceptsIssuer(patterns, identity, unverified.iss))
      throw refused(`${identity.uid} does not take tokens of ${unverified.iss.slice(0, 200)}`)
    const claims = await verify(bearer, identity, unverified)
    const strange = isSelf ? undefined : mismatchedClaim(patterns, identity, claims, ownAudiences)
    if (strange === 'iss' || strange === 'sub') throw refused(`${identity.uid} does not take this ${strange}`)
    if (strange !== undefined)
      throw refused(`${identity.uid} does not take this ${strange}`, `invalid ${JSON.stringify(strange)}`)
    const inAnHour = Math.floor(now() / 1000) + tokenLifetime
    return {
      identity: identity.uid,
      email: identity.email,
      act: { iss: claims.iss, sub: claims.sub, aud: [claims.aud].flat().join(',') },
      narrowing: isOwn ? narrowingOf(claims) : {},
      // Passed from one identity to the next, a token of ours must not live for ever.
      latest: isOwn ? Math.min(inAnHour, claims.exp ?? 0) : inAnHour,
    }
  }

  async function findByAws(bearer: string, asked: Asked): Promise<Finding> {
    const identity = await load(asked.identity)
    const request = readAwsBearer(bearer)
    if (identity.relationship.case !== 'awsIdentity' || !request) throw refused('no identity of AWS')
    const fault = awsFault(request, identity.uid, ownAudiences, now())
    if (fault) throw unverifiable(new Error(fault))
    const caller = await askAws(request).catch((cause: unknown) => {
      throw explain(cause)
    })
    if (!isAwsIdentity(patterns, identity.relationship.value, caller))
      throw refused(`${caller.arn} is somebody else`)
    return {
      ...{ identity: identity.uid, email: undefined, narrowing: {} },
      act: { iss: 'https://sts.amazonaws.com', sub: caller.arn, aud: authUrl },
      latest: Math.floor(now() / 1000) + tokenLifetime,
    }
  }

  return async (bearer, asked) => {
    const strange = asked.audiences.find((one) => !audiencesGiven.includes(one))
    if (strange !== undefined) throw invalidField('aud', `must be one of ${audiencesGiven.join(', ')}`)
    const isAws = !bearer.includes('.')
    const finding = await (isAws ? findByAws(bearer, asked) : findByToken(bearer, asked))
    const { identity, act, email } = finding
    const [first = baseUrl, ...others] = asked.audiences
    const audience = others.length > 0 ? [first, ...others] : first
    const narrowing = combine(finding.narrowing, asked.narrowing)
    const more = { act, narrowing, latest: finding.latest, ...(email && { email }) }
    const token = await mintToken(keys, { issuer: authUrl, audience }, identity, now(), more)
    onSeen(identity)
    return { token, expiry: finding.latest * 1000 }
  }
}

/** An issuer that cannot be asked is no fault of the caller, but nothing else can be told either. */
function explain(error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error
  return unverifiable(error)
}

const parsed = new Map<string, JWTVerifyGetKey>()
const mostParsed = 200

function localKeys(text: string): JWTVerifyGetKey {
  let keys = parsed.get(text)
  if (!keys) {
    keys = createLocalJWKSet(JSON.parse(text))
    if (parsed.size >= mostParsed) parsed.clear()
    parsed.set(text, keys)
  }
  return keys
}
