// docs/specification.md, Roles and bindings (Access questions): over random trees, roles, bindings, expiries, external
// groups, deactivated people and limits of tokens, CheckAccess answers what the call itself answers, for every method of
// v2beta1 and v1, and for pulls, pushes and deletes over the registry protocol.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AccessDecision } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { Method } from '@stemma/api/method.ts'
import fc from 'fast-check'
import { Code } from '../../server/aip/code.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Caller } from '../../server/wire/caller.ts'
import type { Question } from './access-questions.ts'
import { demanded, describeQuestion, drawQuestions, isOnlyForSelf, needsOf } from './access-questions.ts'
import { drawFrom } from './draw.ts'
import type { InProcess } from './in-process.ts'
import { openInProcess } from './in-process.ts'
import type { RegistryClient } from './registry-requests.ts'
import { openRegistryClient } from './registry-requests.ts'
import { anyPlan, isWithin } from './world.ts'
import { auditorOf, completed, withSuspensions } from './world-access.ts'
import type { WorldPlatform } from './world-platform.ts'
import { startWorldPlatform } from './world-platform.ts'

const worldCount = 10
const questionsPerWorld = 750
/** Answers of CheckAccess that are compared with a call. Most questions are asked by the caller and by an auditor. */
const minDecisionCount = 10_000
/** How many calls run at a time. */
const inFlight = 20

/** The maximum number of questions in a BatchCheckAccess. */
const maxBatch = 1000

const { checkAccess, batchCheckAccess } = AccessService.method

/**
 * The request of a call at a uid. Most other fields are left out, because they are checked after
 * the access. Access questions get the identity of somebody other than the caller. A call that
 * creates an organization gets its fields, because the right to do so is checked after them.
 */
function requestAt({ scope, desc }: Method, uid: string): Record<string, unknown> {
  const other = {
    ...(desc.parent === AccessService && { identity: 'e'.repeat(40) }),
    ...(desc.input.field.validateOnly && { validateOnly: true }),
    ...(desc === IdentitiesService.method.updateIdentityMetadata && {
      identityMetadata: { company: 'acme' },
    }),
    ...(desc === Registry.method.getPackageVersionMetadata && { package: 'node' }),
    ...(desc === GroupsService.method.createGroup && uid === '' && { group: { name: 'new' } }),
  }
  const [first, ...inner] = scope.map(({ localName }) => localName)
  if (first === undefined) return other
  return { ...other, [first]: inner.reduceRight<unknown>((value, name) => ({ [name]: value }), uid) }
}

async function inBatches<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += inFlight)
    results.push(...(await Promise.all(items.slice(at, at + inFlight).map(run))))
  return results
}

onEachStore('CheckAccess', (engine) => {
  let setUp: WorldPlatform
  let now = Date.now()
  let api: InProcess
  let registry: RegistryClient
  before(async () => {
    setUp = await startWorldPlatform(engine)
    registry = openRegistryClient(setUp.platform)
    api = openInProcess(setUp.platform, () => now)
  })
  after(() => setUp.stop())

  async function isAllowed({ caller, uid, call }: Question): Promise<boolean> {
    if (call.kind === 'registry') return registry.isAllowed(caller, call.request, call.repo)
    const error = await api.errorOf(caller, call.method.desc, requestAt(call.method, uid))
    return error?.code !== Code.PERMISSION_DENIED
  }

  /**
   * The answers that a caller gets, about itself or about the identity that `identityOf` returns for
   * a question. They are asked for in batches, because single calls would take half of the time of
   * the whole test. The first answers are compared with those of single calls.
   */
  async function check(
    asker: Caller,
    questions: readonly Question[],
    { comparedCount, identityOf }: { comparedCount: number; identityOf?: (question: Question) => string },
  ): Promise<Map<Question, boolean>> {
    const requests = questions.flatMap((question) =>
      needsOf(question).map((need) => ({ ...need, ...(identityOf && { identity: identityOf(question) }) })),
    )
    const decisions: AccessDecision[] = []
    for (let at = 0; at < requests.length; at += maxBatch) {
      const batch = { questions: requests.slice(at, at + maxBatch) }
      decisions.push(...(await api.call(asker, batchCheckAccess, batch)).decisions)
    }
    const single = await inBatches(requests.slice(0, comparedCount), (request) =>
      api.call(asker, checkAccess, request),
    )
    assert.deepEqual(single, decisions.slice(0, comparedCount))
    const answers = decisions.values()
    return new Map(
      questions.map((question) => [
        question,
        // `map` takes the answers to all needs from the iterator, even after a denial.
        needsOf(question)
          .map(() => answers.next().value?.allowed)
          .every(Boolean),
      ]),
    )
  }

  test('answers what every call answers', async () => {
    let allowedCount = 0
    let decisionCount = 0
    const property = fc.asyncProperty(anyPlan(demanded), async (plan) => {
      now = Date.now()
      const draw = drawFrom(plan.salt)
      const world = await setUp.load(plan, (drawn) => withSuspensions(draw, completed(draw, drawn, now)))
      const questions = drawQuestions(draw, world, plan.salt, questionsPerWorld)
      const expected = await inBatches(questions, isAllowed)
      const expectedOf = new Map(questions.map((question, at) => [question, expected[at]]))
      const faults: string[] = []
      const compare = (question: Question, answer: boolean, wanted: boolean | undefined) => {
        decisionCount++
        if (answer !== wanted) faults.push(`${answer} in place of ${wanted}: ${describeQuestion(question)}`)
      }
      for (const [caller, asked] of Map.groupBy(questions, (question) => question.caller))
        for (const [question, answer] of await check(caller, asked, { comparedCount: 1 }))
          compare(question, answer, expectedOf.get(question))
      const aboutOthers = questions.filter(
        (question) =>
          !question.caller.limits &&
          !isOnlyForSelf(question) &&
          world.groups.some((group) => isWithin(question.uid, group)),
      )
      // The auditor may ask about everybody in every organization.
      const others = await check(auditorOf(world), aboutOthers, {
        comparedCount: 20,
        identityOf: ({ caller }) => caller.identity,
      })
      for (const [question, answer] of others) compare(question, answer, expectedOf.get(question))
      allowedCount += expected.filter(Boolean).length
      assert.equal(faults.length, 0, faults.slice(0, 20).join('\n'))
    })
    // Unbiased, because fast-check otherwise prefers small values. A failure prints the seed; shrinking would take minutes.
    await fc.assert(property, { numRuns: worldCount, unbiased: true, endOnFailure: true })
    assert.ok(decisionCount >= minDecisionCount, `${decisionCount} decisions were compared`)
    const share = allowedCount / (worldCount * questionsPerWorld)
    assert.ok(share > 0.1 && share < 0.9, `${share} of the calls are allowed, so the test tells little`)
  })
})
