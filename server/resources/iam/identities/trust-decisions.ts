// Decides which identities trust which, for takeover.ts. Their patterns are written by tenants and can be expensive, so
// a transaction, which runs on the event loop, matches only a small number of cheap ones. A thread matches the others
// after the transaction is rolled back, and then the transaction runs again.
import { toBinary } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Patterns } from '../../../claims/pattern.ts'
import { trustCost, trusts } from '../../../claims/trust.ts'
import type { Checks } from '../../dependencies.ts'

/** The matching that one run of a transaction may do, in units of `trustCost`: about 3 ms at worst. */
const maxCostOnLoop = 20_000
/** The matching that threads may do for one call: less than half a second. Ordinary patterns cost about 5,000 each. */
const maxCostInThreads = 3_000_000
/** How often a call leaves its transaction for a thread. Each time it follows one more level of trust. */
const maxRounds = 8

type Question = { identity: Identity; subject: string }

/** Thrown in a transaction that cannot continue without these answers. */
class Undecided extends Error {
  readonly questions: readonly Question[]

  constructor(questions: readonly Question[]) {
    super('a thread must match patterns first')
    this.questions = questions
  }
}

export type TrustDecisions = {
  /** The identities that trust one of the subjects. Throws if a thread must decide that. */
  trusting(identities: readonly Identity[], subjects: readonly string[]): Identity[]
}

export type TrustDependencies = { authUrl: string; patterns: Patterns; checks: Pick<Checks, 'trust'> }

/** Runs a transaction until all its questions are decided. What is too expensive counts as trust, the safe answer. */
export async function withTrustDecisions<T>(
  deps: TrustDependencies,
  caller: string,
  transaction: (decisions: TrustDecisions) => Promise<T>,
): Promise<T> {
  const decided = new Map<string, boolean>()
  let leftInThreads = maxCostInThreads
  for (let round = 0; ; round++) {
    try {
      return await transaction(openDecisions(deps, decided, round < maxRounds))
    } catch (error) {
      if (!(error instanceof Undecided)) throw error
      const affordable = error.questions.filter(({ identity, subject }) => {
        leftInThreads -= trustCost(identity, deps.authUrl)(subject)
        return leftInThreads >= 0
      })
      for (const question of error.questions) decided.set(keyOf(question), true)
      const answers = affordable.length > 0 && (await askThread(deps, affordable, caller))
      if (answers)
        for (const [at, question] of affordable.entries()) decided.set(keyOf(question), answers[at] ?? true)
    }
  }
}

/** Undefined if it takes too long. */
function askThread({ authUrl: issuer, checks }: TrustDependencies, questions: Question[], caller: string) {
  const identities = questions.map(({ identity }) => toBinary(IdentitySchema, identity))
  return checks.trust({ issuer, identities, subjects: questions.map(({ subject }) => subject) }, caller)
}

function openDecisions(
  { authUrl, patterns }: TrustDependencies,
  decided: ReadonlyMap<string, boolean>,
  canAsk: boolean,
): TrustDecisions {
  let left = maxCostOnLoop
  const costs = new Map<Identity, ReturnType<typeof trustCost>>()
  const costOf = (identity: Identity) => {
    const known = costs.get(identity) ?? trustCost(identity, authUrl)
    costs.set(identity, known)
    return known
  }
  return {
    trusting(identities, subjects) {
      const open: Question[] = []
      const isTrusting = (identity: Identity, subject: string) => {
        const cost = costOf(identity)(subject)
        const known = cost > 0 ? decided.get(keyOf({ identity, subject })) : undefined
        if (known !== undefined) return known
        left -= cost
        if (left >= 0 || cost === 0) return trusts(patterns, identity, authUrl, subject)
        open.push({ identity, subject })
        return true
      }
      // Every subject is asked for, so that one visit of the thread decides the whole level.
      const found = identities.filter(
        (identity) => subjects.filter((s) => isTrusting(identity, s)).length > 0,
      )
      if (open.length > 0 && canAsk) throw new Undecided(open)
      return found
    },
  }
}

/** The update time increases with every change, so the answer for an older version of an identity is not used. */
const keyOf = ({ identity: { uid, updateTime }, subject }: Question) =>
  `${uid} ${updateTime ? timestampMs(updateTime) : 0} ${subject}`
