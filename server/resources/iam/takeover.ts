// Changing how an identity is recognised is a takeover: the caller can then act as the identity. With its tokens the
// caller can also act as every identity that trusts it (by a claim match on this server's own issuer), as every
// identity that trusts one of those, and so on. So the caller must hold everything that all of these identities hold.
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { rootOf, userUid } from '../../aip/uid.ts'
import type { Grants } from '../../policy/grants.ts'
import type { Row, Sql } from '../../store/sql.ts'
import { among, raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { messageOf } from '../kind.ts'
import { requireAllGrantsOf, requireOwner } from './delegation.ts'
import { candidatesAmong, readForeignWorkloads } from './foreign-workloads.ts'
import { anyIssuer, identities } from './identities/table.ts'
import type { TrustDecisions } from './trust-decisions.ts'

export type TakeoverDependencies = { authUrl: string; decisions: TrustDecisions }

/** The maximum number of identities that the search may find. */
const maxIdentities = 50
/**
 * The maximum number of identities that are read because their subject is the uid of a found
 * identity. Greater than `maxIdentities`, because anyone can create such identities, and not all of
 * them trust the found one: some also require a claim that no token of this server has.
 */
const maxNaming = 500
/** The maximum number of identities with patterns to read. Each pattern is matched with every uid that is found. */
const maxCandidates = 100

/** Requires that a caller who changes how the identity is recognised may act as it and as those that trust it. */
export function* requireMayTakeOver(deps: TakeoverDependencies, grants: Grants, uid: string): Work<void> {
  const root = rootOf(uid)
  const trusting = yield* findTrusting(deps, grants.time, uid, candidatesFor(deps, root))
  if (!trusting) return yield* requireOwner(grants, root)
  yield* requireAllGrantsOf(grants, [uid, ...trusting], root)
}

/**
 * Requires that the caller may act as the identities whose patterns match a new identity. Patterns in other
 * organizations are matched with the new identity itself only if their identities have roles here. Otherwise,
 * strangers could create so many patterns that only owners could create identities.
 */
export function* requireMayCreate(deps: TakeoverDependencies, grants: Grants, uid: string): Work<void> {
  const root = rootOf(uid)
  const [inOrganization, ...others] = candidatesFor(deps, root)
  const trusting = yield* findTrusting(deps, grants.time, uid, [inOrganization], others)
  if (!trusting) return yield* requireOwner(grants, root)
  yield* requireAllGrantsOf(grants, trusting, root)
}

/**
 * Finds the identities that can be assumed with tokens of an identity, directly or through other identities. Undefined
 * if there are too many. The conditions select candidates: identities whose patterns may match. Candidates of
 * `conditionsAtStart`, and identities of other organizations that have roles in the organization of `uid`, are matched
 * with `uid` and with every identity that is found. Candidates of `conditionsLater` are matched only with identities
 * that are found.
 */
function* findTrusting(
  deps: TakeoverDependencies,
  time: number,
  uid: string,
  conditionsAtStart: readonly Sql[],
  conditionsLater: readonly Sql[] = [],
): Work<string[] | undefined> {
  const found = new Set([uid])
  const candidates = new Map<string, Identity>()
  const roots = new Set([rootOf(uid)])
  const foreignWorkloads = yield* readForeignWorkloads(rootOf(uid), time)
  if (!foreignWorkloads) return undefined
  let conditions = [...conditionsAtStart, ...candidatesAmong(foreignWorkloads, deps.authUrl)]
  for (let reached = [uid]; reached.length > 0; ) {
    for (const condition of conditions)
      for (const identity of yield* select(condition, maxCandidates)) candidates.set(identity.uid, identity)
    const hashes = reached.map((subject) => userUid(deps.authUrl, subject))
    // The index is partial: both engines use it only if the statement repeats the condition of the index.
    const naming = yield* select(sql`known_by in ${among(hashes)} and known_by <> ''`, maxNaming)
    if (naming.length > maxNaming || candidates.size > maxCandidates) return undefined
    const notYetFound = [...naming, ...candidates.values()].filter((identity) => !found.has(identity.uid))
    reached = [...new Set(deps.decisions.trusting(notYetFound, reached).map((identity) => identity.uid))]
    const isFirstRound = found.size === 1
    for (const identity of reached) found.add(identity)
    if (found.size > maxIdentities) return undefined
    const newRoots = [...new Set(reached.map(rootOf))].filter((root) => !roots.has(root))
    for (const root of newRoots) roots.add(root)
    conditions = newRoots.flatMap((root) => candidatesFor(deps, root))
    if (isFirstRound) conditions = [...conditionsLater, ...conditions]
  }
  found.delete(uid)
  return [...found]
}

/** Reads at most `limit` + 1 identities: one more than `limit` shows that the limit is exceeded. */
function* select(condition: Sql, limit: number): Work<Identity[]> {
  const rows: Row[] = yield sql`select proto from identities where ${condition} ${raw(`limit ${limit + 1}`)}`
  return rows.map(([proto]) => messageOf(identities, proto as Uint8Array))
}

/**
 * Conditions for the identities whose patterns may match an identity of the organization `root`: the identities of
 * `root` itself, and identities of other organizations whose patterns name `root`.
 */
function candidatesFor({ authUrl }: TakeoverDependencies, root: string): [own: Sql, others: Sql] {
  const acceptsOurTokens = sql`pattern_issuer in (${authUrl}, ${anyIssuer})`
  return [sql`root = ${root} and ${acceptsOurTokens}`, sql`trusted_root = ${root} and ${acceptsOurTokens}`]
}
