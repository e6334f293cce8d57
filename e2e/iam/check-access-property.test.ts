// docs/specification.md, Roles and bindings (Access questions): over random trees, roles, bindings, expiries, external
// groups, deactivated people and limits of tokens, CheckAccess answers what the call itself answers, for every method of v2beta1 and v1.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupInvites as V1GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { Groups as V1Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { services } from '@stemma/api/gen/services.ts'
import type { Method } from '@stemma/api/method.ts'
import { describeMethods } from '@stemma/api/method.ts'
import fc from 'fast-check'
import { Code } from '../../server/aip/code.ts'
import { nameOf } from '../../server/policy/capabilities.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Caller } from '../../server/wire/caller.ts'
import type { Draw } from './draw.ts'
import { drawFrom } from './draw.ts'
import type { InProcess } from './in-process.ts'
import { openInProcess } from './in-process.ts'
import type { World } from './world.ts'
import { anyPlan, groupOf, isWithin, uidGenerator } from './world.ts'
import { auditorOf, completed, withSuspensions } from './world-access.ts'
import type { WorldPlatform } from './world-platform.ts'
import { startWorldPlatform } from './world-platform.ts'

/** 10,000 decisions in a run on each store. */
const worldCount = 10
const decisionsPerWorld = 1000
/** How many calls run at a time. */
const inFlight = 20

/**
 * Not tried: calls that need no token, and those of v1 that would change the world, because v1 has no validate_only.
 * check-access.test.ts has examples of these.
 */
const destructive: readonly DescMethod[] = [
  ...[Auth.method.delete, V1GroupInvites.method.createWithGroup, V1Groups.method.create],
]
const methods = services
  .flatMap(describeMethods)
  .filter(
    ({ desc, isInternal, access }) => access && !access.open && !isInternal && !destructive.includes(desc),
  )
const demanded = [...new Set(methods.flatMap(({ access }) => access?.capabilities ?? []))].map(nameOf)

const { checkAccess, batchCheckAccess } = AccessService.method

type Question = { caller: Caller; method: Method; uid: string }

/**
 * The request of a call at a uid, without other fields: these are checked after the access. Access questions are about
 * somebody else than the caller. The right to create organizations is checked after the fields.
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

/** At a uid that exists, these calls may require further capabilities, which depend on the resource. */
const changesExisting = ({ desc }: Method) => /^(Delete|Update)/.test(desc.name)

/** Somebody else than the identity cannot ask whether it may list roles anywhere, and so read built-in ones. */
const isOnlyForSelf = ({ method, uid }: Question) =>
  method.desc === RolesService.method.getRole && groupOf(uid) === ''

function drawQuestion(
  draw: Draw,
  world: World,
  callers: readonly Caller[],
  invented: readonly string[],
): Question {
  const { groups, users, workloads, roles } = world
  const method = draw.one(methods)
  const existing = [...groups, ...groups, ...groups, ...users, ...workloads, ...roles.map(({ uid }) => uid)]
  // Questions about others need a uid.
  const mayOmitUid = method.access?.scopeOptional && method.desc.parent !== AccessService
  const isWithoutUid = method.scope.length === 0 || (mayOmitUid && draw.oneIn(4))
  return {
    caller: draw.one(callers),
    method,
    uid: isWithoutUid ? '' : draw.one(changesExisting(method) || draw.oneIn(3) ? invented : existing),
  }
}

/** Everybody, two thirds of them without limits. Few, so that each asks for many decisions at a time. */
function drawCallers(draw: Draw, { groups, users, workloads }: World): Caller[] {
  const issuedAt = Math.floor(Date.now() / 1000)
  const unlimited = [...users, ...workloads].map((identity) => ({ identity, issuedAt }))
  return [
    ...unlimited,
    ...unlimited.filter(() => draw.oneIn(2)).map((caller) => limited(draw, caller, groups)),
  ]
}

function limited(draw: Draw, caller: Caller, groups: readonly string[]): Caller {
  const scopes = draw.oneIn(2) ? [draw.one(groups), draw.one(groups)] : undefined
  const capabilities = draw.oneIn(2) ? demanded.filter(() => !draw.oneIn(3)) : undefined
  return { ...caller, limits: { ...(scopes && { scopes }), ...(capabilities && { capabilities }) } }
}

const describeQuestion = ({ caller, method, uid }: Question) =>
  `${method.name} at "${uid}" by ${JSON.stringify(caller)}`

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
  before(async () => {
    setUp = await startWorldPlatform(engine)
    api = openInProcess(setUp.platform, () => now)
  })
  after(() => setUp.stop())

  const isAllowed = async ({ caller, method, uid }: Question) =>
    (await api.errorOf(caller, method.desc, requestAt(method, uid)))?.code !== Code.PERMISSION_DENIED

  /** The answers that each caller gets about itself, in one batch; a call for each question would take half of the time. */
  async function checkOwn(questions: readonly Question[]): Promise<Map<Question, boolean>> {
    const answers = new Map<Question, boolean>()
    for (const [caller, asked] of Map.groupBy(questions, (question) => question.caller)) {
      const requests = asked.map(({ method, uid }) => ({ method: method.name, resource: uid }))
      const batch = await api.call(caller, batchCheckAccess, { questions: requests })
      const [first] = requests
      if (first) assert.deepEqual(await api.call(caller, checkAccess, first), batch.decisions[0])
      for (const [at, question] of asked.entries())
        answers.set(question, batch.decisions[at]?.allowed ?? false)
    }
    return answers
  }

  /** Answers that the auditor, who may ask about everybody in every organization, gets about others. */
  async function checkOthers(auditor: Caller, questions: readonly Question[]): Promise<boolean[]> {
    const requests = questions.map(({ caller, method, uid }) => ({
      ...{ identity: caller.identity, method: method.name, resource: uid },
    }))
    const { decisions } = await api.call(auditor, batchCheckAccess, {
      questions: requests,
    })
    const first = await inBatches(requests.slice(0, 20), (request) => api.call(auditor, checkAccess, request))
    assert.deepEqual(first, decisions.slice(0, 20))
    return decisions.map(({ allowed }) => allowed)
  }

  test('answers what every call answers', async () => {
    let allowedCount = 0
    const property = fc.asyncProperty(anyPlan(demanded), async (plan) => {
      now = Date.now()
      const draw = drawFrom(plan.salt)
      const world = await setUp.load(plan, (drawn) => withSuspensions(draw, completed(draw, drawn, now)))
      const { newRoot, newChild } = uidGenerator(-1 - plan.salt)
      const invented = [
        ...world.groups.flatMap((group) => [newChild(group), newChild(newChild(group))]),
        newRoot(),
      ]
      const callers = drawCallers(draw, world)
      const questions = Array.from({ length: decisionsPerWorld }, () =>
        drawQuestion(draw, world, callers, invented),
      )
      const expected = await inBatches(questions, isAllowed)
      const expectedOf = new Map(questions.map((question, at) => [question, expected[at]]))
      const faults: string[] = []
      const compare = (question: Question, answer: boolean, wanted: boolean | undefined) => {
        if (answer !== wanted) faults.push(`${answer} in place of ${wanted}: ${describeQuestion(question)}`)
      }
      const own = await checkOwn(questions)
      for (const [at, question] of questions.entries())
        compare(question, own.get(question) ?? false, expected[at])
      const aboutOthers = questions.filter(
        (question) =>
          !question.caller.limits &&
          !isOnlyForSelf(question) &&
          world.groups.some((group) => isWithin(question.uid, group)),
      )
      const others = await checkOthers(auditorOf(world), aboutOthers)
      for (const [at, question] of aboutOthers.entries())
        compare(question, others[at] ?? false, expectedOf.get(question))
      allowedCount += expected.filter(Boolean).length
      assert.equal(faults.length, 0, faults.slice(0, 20).join('\n'))
    })
    // Unbiased, because fast-check otherwise prefers small values. A failure prints the seed; shrinking would take minutes.
    await fc.assert(property, { numRuns: worldCount, unbiased: true, endOnFailure: true })
    const share = allowedCount / (worldCount * decisionsPerWorld)
    assert.ok(share > 0.1 && share < 0.9, `${share} of the calls are allowed, so the test tells little`)
  })
})
