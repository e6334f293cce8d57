// Decides which identities trust which other identities, for takeover.ts. An identity trusts the subjects that match
// its claim patterns. Tenants write these patterns, which can be expensive to match. A transaction runs on the event
// loop, so it matches patterns only up to a small total cost. A thread matches the others after the transaction is rolled
// back, and then the transaction runs again.
import { toBinary } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Patterns } from '../../claims/pattern.ts'
import { trustCost, trusts } from '../../claims/trust.ts'
import type { Checks } from '../dependencies.ts'

/** The maximum cost of matching in one run of a transaction, in units of `trustCost`: about 3 ms at worst. */
const maxCostOnLoop = 20_000
/**
 * The maximum cost of matching in threads for one call: less than half a second. An ordinary pattern costs about 5,000.
 */
const maxCostInThreads = 3_000_000
/**
 * How often a call may roll back its transaction to ask a thread. Each round decides one more link in chains of trust.
 */
const maxRounds = 8

type Question = { identity: Identity; subject: string }

/** Thrown in a transaction that cannot continue without the answers to these questions. */
class Undecided extends Error {
  readonly questions: readonly Question[]

  constructor(questions: readonly Question[]) {
    super('a thread must match patterns first')
    this.questions = questions
  }
}

export type TrustDecisions = {
  /** The identities that trust one of the subjects. Throws `Undecided` if a thread must decide. */
  trusting(identities: readonly Identity[], subjects: readonly string[]): Identity[]
}

export type TrustDependencies = { authUrl: string; patterns: Patterns; checks: Pick<Checks, 'trust'> }

/**
 * Runs a transaction until all its questions are decided. If a question is too expensive to decide, the identity is
 * assumed to trust the subject. This is safe: the caller then needs more capabilities, never fewer.
 */
export async function withTrustDecisions<T>(
  deps: TrustDependencies,
  caller: string,
  transaction: (decisions: TrustDecisions) => Promise<T>,
): Promise<T> {
  const decided = new Map<string, boolean>()
  let budgetInThreads = maxCostInThreads
  for (let round = 0; ; round++) {
    try {
      return await transaction(openDecisions(deps, decided, round < maxRounds))
    } catch (error) {
      if (!(error instanceof Undecided)) throw error
      const affordable = error.questions.filter(({ identity, subject }) => {
        budgetInThreads -= trustCost(identity, deps.authUrl)(subject)
        return budgetInThreads >= 0
      })
      for (const question of error.questions) decided.set(keyOf(question), true)
      const answers = affordable.length > 0 && (await askThread(deps, affordable, caller))
      if (answers)
        for (const [at, question] of affordable.entries()) decided.set(keyOf(question), answers[at] ?? true)
    }
  }
}

/** Returns undefined if the thread takes too long. */
function askThread({ authUrl: issuer, checks }: TrustDependencies, questions: Question[], caller: string) {
  const identities = questions.map(({ identity }) => toBinary(IdentitySchema, identity))
  return checks.trust({ issuer, identities, subjects: questions.map(({ subject }) => subject) }, caller)
}

function openDecisions(
  { authUrl, patterns }: TrustDependencies,
  decided: ReadonlyMap<string, boolean>,
  canAskThread: boolean,
): TrustDecisions {
  let budget = maxCostOnLoop
  const costs = new Map<Identity, ReturnType<typeof trustCost>>()
  const costOf = (identity: Identity) => {
    const cost = costs.get(identity) ?? trustCost(identity, authUrl)
    costs.set(identity, cost)
    return cost
  }
  return {
    trusting(identities, subjects) {
      const undecided: Question[] = []
      const isTrusting = (identity: Identity, subject: string) => {
        const cost = costOf(identity)(subject)
        const decision = cost > 0 ? decided.get(keyOf({ identity, subject })) : undefined
        if (decision !== undefined) return decision
        budget -= cost
        if (budget >= 0 || cost === 0) return trusts(patterns, identity, authUrl, subject)
        undecided.push({ identity, subject })
        return true
      }
      // Tries every subject, even after one is trusted, so that one round in the thread decides all open questions of
      // this call of `trusting`.
      const trusting = identities.filter(
        (identity) => subjects.filter((s) => isTrusting(identity, s)).length > 0,
      )
      if (undecided.length > 0 && canAskThread) throw new Undecided(undecided)
      return trusting
    },
  }
}

/** The update time increases with every change, so the answer for an older version of an identity is not used. */
const keyOf = ({ identity: { uid, updateTime }, subject }: Question) =>
  `${uid} ${updateTime ? timestampMs(updateTime) : 0} ${subject}`
