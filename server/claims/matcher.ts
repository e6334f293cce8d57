// Matches identities whose patterns are cheap at once, and all others in a thread.
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Claims } from './match.ts'
import { acceptsIssuer, mismatchedClaim } from './match.ts'
import type { Patterns, ValueOrPattern } from './pattern.ts'
import { expandedLength, openPatterns } from './pattern.ts'

/** Matches the issuer alone, or all claims of a verified token. */
export type MatchTask =
  | { kind: 'issuer'; identity: Uint8Array; issuer: string }
  | { kind: 'claims'; identity: Uint8Array; claims: Claims; audiences: readonly string[] }

/** Runs a task in a thread. `owner` is the identity, whose organization may have a few tasks at a time. */
export type RunMatch = (task: MatchTask, owner: string) => Promise<unknown>

/**
 * The cost of what is matched on the event loop: the sizes of the patterns, each times the length of its text. At worst
 * 3 ms. A pattern such as `repo:acme/.+:ref:refs/heads/main` has a size of less than 50 and a text of less than 100.
 */
const cheapCost = 15_000
/** Compiling takes longer than matching a short text, so the size is limited as well. */
const cheapSize = 300

/** As the rules of `claim_match.issuer` in the API. */
const maxIssuerLength = 1024

export type Matcher = {
  acceptsIssuer(identity: Identity, issuer: string): boolean | Promise<boolean>
  /** The name of the first claim that does not match. */
  mismatchedClaim(identity: Identity, claims: Claims): string | undefined | Promise<string | undefined>
}

export function openMatcher(run: RunMatch, audiences: readonly string[]): Matcher {
  const patterns = openPatterns()
  const inThread = (identity: Identity, task: MatchTask) => run(task, identity.uid)
  return {
    acceptsIssuer(identity, issuer) {
      // The issuer of a token is matched before its signature is verified, so anyone can send one.
      if (issuer.length > maxIssuerLength) return false
      if (isCheap(identity, { iss: issuer })) return acceptsIssuer(patterns, identity, issuer)
      const bytes = toBinary(IdentitySchema, identity)
      // The thread answers with the result of the same function.
      return inThread(identity, { kind: 'issuer', identity: bytes, issuer }) as Promise<boolean>
    },
    mismatchedClaim(identity, claims) {
      if (isCheap(identity, claims)) return mismatchedClaim(patterns, identity, claims, audiences)
      const bytes = toBinary(IdentitySchema, identity)
      const task = { kind: 'claims', identity: bytes, claims, audiences } as const
      return inThread(identity, task) as Promise<string | undefined> // as above
    },
  }
}

function isCheap({ relationship }: Identity, claims: Partial<Claims>): boolean {
  if (relationship.case !== 'claimMatch') return true
  const { iss, sub, aud, claimPatterns } = relationship.value
  let [size, cost] = [0, 0]
  const add = ({ case: field, value = '' }: ValueOrPattern, claim: unknown) => {
    if (!field?.endsWith('Pattern')) return
    const patternSize = expandedLength(value)
    size += patternSize
    cost += patternSize * textLength(claim)
  }
  add(iss, claims.iss)
  add(sub, claims.sub)
  add(aud, claims.aud)
  for (const name in claimPatterns) add({ case: 'claimPattern', value: claimPatterns[name] }, claims[name])
  return size <= cheapSize && cost <= cheapCost
}

/** A list of audiences is matched one by one. Numbers and booleans are short, and other claims are not matched. */
function textLength(claim: unknown): number {
  if (Array.isArray(claim)) return claim.reduce((sum: number, each) => sum + textLength(each), 0)
  return typeof claim === 'string' ? claim.length : 30
}

/** Performs a task; called in the thread. */
export function performMatch(patterns: Patterns, task: MatchTask): boolean | string | undefined {
  const identity = fromBinary(IdentitySchema, task.identity)
  return task.kind === 'issuer'
    ? acceptsIssuer(patterns, identity, task.issuer)
    : mismatchedClaim(patterns, identity, task.claims, task.audiences)
}
