// Matches the claims of a token, or a caller that AWS has confirmed, with an identity: on the event loop if the
// patterns of the identity are cheap, otherwise in a thread.
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { AwsCaller } from './aws.ts'
import { matchesAwsCaller } from './aws.ts'
import type { Claims } from './match.ts'
import { acceptsIssuer, mismatchedClaim } from './match.ts'
import type { Patterns, ValueOrPattern } from './pattern.ts'
import { expandedLength, openPatterns } from './pattern.ts'

/** Matches the issuer alone, all claims of a verified token, or a caller that AWS has confirmed. */
export type MatchTask =
  | { kind: 'issuer'; identity: Uint8Array; issuer: string }
  | { kind: 'claims'; identity: Uint8Array; claims: Claims; audiences: readonly string[] }
  | { kind: 'aws'; identity: Uint8Array; caller: AwsCaller }

/** Runs a task in a thread. The number of tasks at a time is limited for each organization. */
export type RunMatch = (task: MatchTask, identityUid: string) => Promise<unknown>

/**
 * The maximum cost of a match on the event loop; a match of this cost takes at most 3 ms. The cost is the sum, over all
 * patterns, of the size of the pattern (`expandedLength`) times the length of its text. A pattern such as
 * `repo:acme/.+:ref:refs/heads/main` has a size below 50, and its text has fewer than 100 characters.
 */
const maxCheapCost = 15_000
/** The maximum size of all patterns together: compiling a pattern takes longer than matching a short text. */
const maxCheapSize = 300

/** In characters: the same limit as in the rules of `claim_match.issuer`. */
const maxIssuerLength = 1024

export type Matcher = {
  acceptsIssuer(identity: Identity, issuer: string): boolean | Promise<boolean>
  /** The name of the first claim that does not match. */
  mismatchedClaim(identity: Identity, claims: Claims): string | undefined | Promise<string | undefined>
  matchesAws(identity: Identity, caller: AwsCaller): boolean | Promise<boolean>
}

export function openMatcher(run: RunMatch, audiences: readonly string[]): Matcher {
  const patterns = openPatterns()
  // In the thread, `performMatch` calls the same function as the event loop does here, so the casts below are correct.
  const inThread = (identity: Identity, task: MatchTask) => run(task, identity.uid)
  return {
    acceptsIssuer(identity, issuer) {
      // The issuer of a token is matched before its signature is verified, so anyone can send a long one.
      if (issuer.length > maxIssuerLength) return false
      if (isCheap(claimPairs(identity, { iss: issuer }))) return acceptsIssuer(patterns, identity, issuer)
      const bytes = toBinary(IdentitySchema, identity)
      return inThread(identity, { kind: 'issuer', identity: bytes, issuer }) as Promise<boolean>
    },
    mismatchedClaim(identity, claims) {
      if (isCheap(claimPairs(identity, claims))) return mismatchedClaim(patterns, identity, claims, audiences)
      const bytes = toBinary(IdentitySchema, identity)
      const task = { kind: 'claims', identity: bytes, claims, audiences } as const
      return inThread(identity, task) as Promise<string | undefined>
    },
    matchesAws(identity, caller) {
      if (isCheap(awsPairs(identity, caller))) return matchesAws(patterns, identity, caller)
      const bytes = toBinary(IdentitySchema, identity)
      return inThread(identity, { kind: 'aws', identity: bytes, caller }) as Promise<boolean>
    },
  }
}

/** A pattern, or an exact value, and the text that is matched. */
type Pair = [ValueOrPattern, unknown]

function claimPairs({ relationship }: Identity, claims: Partial<Claims>): Pair[] {
  if (relationship.case !== 'claimMatch') return []
  const { iss, sub, aud, claimPatterns } = relationship.value
  const pairs: Pair[] = [
    [iss, claims.iss],
    [sub, claims.sub],
    [aud, claims.aud],
  ]
  for (const name in claimPatterns)
    pairs.push([{ case: 'claimPattern', value: claimPatterns[name] }, claims[name]])
  return pairs
}

function awsPairs({ relationship }: Identity, { arn, userId }: AwsCaller): Pair[] {
  if (relationship.case !== 'awsIdentity') return []
  return [
    [relationship.value.awsArn, arn],
    [relationship.value.awsUserId, userId],
  ]
}

function isCheap(pairs: readonly Pair[]): boolean {
  let [size, cost] = [0, 0]
  for (const [{ case: field, value = '' }, text] of pairs) {
    if (!field?.endsWith('Pattern')) continue
    const patternSize = expandedLength(value)
    size += patternSize
    cost += patternSize * textLength(text)
  }
  return size <= maxCheapSize && cost <= maxCheapCost
}

/**
 * Each audience of a list is matched separately. Values that are not text count as 30 characters: numbers and booleans
 * are shorter, and other types are not matched.
 */
function textLength(claim: unknown): number {
  if (Array.isArray(claim)) return claim.reduce((sum: number, each) => sum + textLength(each), 0)
  return typeof claim === 'string' ? claim.length : 30
}

const matchesAws = (patterns: Patterns, { relationship }: Identity, caller: AwsCaller) =>
  relationship.case === 'awsIdentity' && matchesAwsCaller(patterns, relationship.value, caller)

/** Performs a task; called in the thread. */
export function performMatch(patterns: Patterns, task: MatchTask): boolean | string | undefined {
  const identity = fromBinary(IdentitySchema, task.identity)
  switch (task.kind) {
    case 'issuer':
      return acceptsIssuer(patterns, identity, task.issuer)
    case 'claims':
      return mismatchedClaim(patterns, identity, task.claims, task.audiences)
    case 'aws':
      return matchesAws(patterns, identity, task.caller)
  }
}
