// docs/specification.md, Roles and bindings (Access questions): over random trees, roles, bindings, expiries, external
// groups and limits of tokens, CheckAccess answers what the call itself answers, for every method of v2beta1.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { services } from '@stemma/api/gen/services-v2beta1.ts'
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
import { auditorOf, withAuditor, withExpiries, withMembers } from './world-access.ts'
import type { WorldPlatform } from './world-platform.ts'
import { startWorldPlatform } from './world-platform.ts'

/** In total 10,000 decisions in a run. Those on PostgreSQL take three times as long. */
const worldCounts = { sqlite: 15, postgres: 5 }
const decisionsPerWorld = 500
/** How many calls run at a time. */
const inFlight = 20

const methods = services.flatMap(describeMethods)
const demanded = [...new Set(methods.flatMap(({ access }) => access?.capabilities ?? []))].map(nameOf)

type Question = { caller: Caller; method: Method; uid: string }

/** The request of a call at a uid, without other fields. Access questions are about somebody else than the caller. */
function requestAt({ scope, desc }: Method, uid: string): Record<string, unknown> {
  const other = desc.parent === AccessService ? { identity: 'e'.repeat(40) } : {}
  const [first, ...inner] = scope.map(({ localName }) => localName)
  if (first === undefined) return other
  return { ...other, [first]: inner.reduceRight<unknown>((value, name) => ({ [name]: value }), uid) }
}

/** Calls that would change what exists are made at uids that do not. */
const changesExisting = ({ desc }: Method) => /^(Delete|Update)/.test(desc.name)

/** Questions about others need one. Without a uid, CreateGroup would create an organization. */
const needsUid = ({ desc }: Method) =>
  desc.parent === AccessService || desc === GroupsService.method.createGroup

/** Somebody else than the identity cannot ask whether it may list roles anywhere, and so read built-in ones. */
const isOnlyForSelf = ({ method, uid }: Question) =>
  method.desc === RolesService.method.getRole && groupOf(uid) === ''

function drawQuestion(draw: Draw, world: World, invented: readonly string[]): Question {
  const { groups, users, workloads, roles } = world
  const method = draw.one(methods)
  const existing = [...groups, ...groups, ...groups, ...users, ...workloads, ...roles.map(({ uid }) => uid)]
  const mayOmitUid = method.access?.scopeOptional && !needsUid(method)
  const isWithoutUid = method.scope.length === 0 || (mayOmitUid && draw.oneIn(4))
  return {
    caller: drawCaller(draw, world),
    method,
    uid: isWithoutUid ? '' : draw.one(changesExisting(method) || draw.oneIn(3) ? invented : existing),
  }
}

function drawCaller(draw: Draw, { groups, users, workloads }: World): Caller {
  const caller = { identity: draw.one([...users, ...workloads]), issuedAt: Math.floor(Date.now() / 1000) }
  if (!draw.oneIn(3)) return caller
  const scopes = draw.oneIn(2) ? [draw.one(groups), draw.one(groups)] : undefined
  const capabilities = draw.oneIn(2) ? demanded.filter(() => !draw.oneIn(3)) : undefined
  return { ...caller, limits: { ...(scopes && { scopes }), ...(capabilities && { capabilities }) } }
}

const completed = (draw: Draw, world: World, now: number) =>
  withAuditor(withExpiries(draw, withMembers(draw, world, now), now))

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

  const checkOwn = async ({ caller, method, uid }: Question) => {
    const request = { method: method.name, resource: uid }
    return (await api.call(caller, AccessService.method.checkAccess, request)).allowed
  }

  /** Answers that the auditor, who may ask about everybody in every organization, gets about others. */
  async function checkOthers(auditor: Caller, questions: readonly Question[]): Promise<boolean[]> {
    const requests = questions.map(({ caller, method, uid }) => ({
      ...{ identity: caller.identity, method: method.name, resource: uid },
    }))
    const { decisions } = await api.call(auditor, AccessService.method.batchCheckAccess, {
      questions: requests,
    })
    const first = await inBatches(requests.slice(0, 20), (request) =>
      api.call(auditor, AccessService.method.checkAccess, request),
    )
    assert.deepEqual(first, decisions.slice(0, 20))
    return decisions.map(({ allowed }) => allowed)
  }

  test('answers what every call of v2beta1 answers', async () => {
    let allowedCount = 0
    const property = fc.asyncProperty(anyPlan(demanded), async (plan) => {
      now = Date.now()
      const draw = drawFrom(plan.salt)
      const world = await setUp.load(plan, (drawn) => completed(draw, drawn, now))
      const { newRoot, newChild } = uidGenerator(-1 - plan.salt)
      const invented = [
        ...world.groups.flatMap((group) => [newChild(group), newChild(newChild(group))]),
        newRoot(),
      ]
      const questions = Array.from({ length: decisionsPerWorld }, () => drawQuestion(draw, world, invented))
      const expected = await inBatches(questions, isAllowed)
      const faults: string[] = []
      const compare = (question: Question, answer: boolean, wanted: boolean | undefined) => {
        if (answer !== wanted) faults.push(`${answer} in place of ${wanted}: ${describeQuestion(question)}`)
      }
      const own = await inBatches(questions, checkOwn)
      for (const [at, question] of questions.entries()) compare(question, own[at] ?? false, expected[at])
      const aboutOthers = questions.filter(
        (question) =>
          !question.caller.limits &&
          !isOnlyForSelf(question) &&
          world.groups.some((group) => isWithin(question.uid, group)),
      )
      const others = await checkOthers(auditorOf(world), aboutOthers)
      for (const [at, question] of aboutOthers.entries())
        compare(question, others[at] ?? false, expected[questions.indexOf(question)])
      allowedCount += expected.filter(Boolean).length
      assert.equal(faults.length, 0, faults.slice(0, 20).join('\n'))
    })
    // Unbiased, because fast-check otherwise prefers small values. A failure prints the seed; shrinking would take minutes.
    await fc.assert(property, { numRuns: worldCounts[engine], unbiased: true, endOnFailure: true })
    const share = allowedCount / (worldCounts[engine] * decisionsPerWorld)
    assert.ok(share > 0.1 && share < 0.9, `${share} of the calls are allowed, so the test tells little`)
  })

  /** All results of a search, in pages of different sizes. */
  async function search(kind: string, body: object, token: string): Promise<string[]> {
    const ids: string[] = []
    let page: { limit: number; token?: string } = { limit: 7 }
    for (;;) {
      const response = await fetch(`${setUp.platform.url}/access/v1/search/${kind}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ ...body, page }),
      })
      const found = (await response.json()) as {
        results: { id: string }[]
        page: { next_token: string; total: number }
      }
      ids.push(...found.results.map(({ id }) => id))
      if (found.page.next_token === '') {
        assert.equal(found.page.total, ids.length)
        return ids
      }
      page = { limit: 50, token: found.page.next_token }
    }
  }

  test('permits exactly what searches of AuthZEN find', async () => {
    const property = fc.asyncProperty(anyPlan(demanded), async (plan) => {
      now = Date.now()
      const draw = drawFrom(plan.salt)
      const world = await setUp.load(plan, (drawn) => completed(draw, drawn, now))
      const auditor = auditorOf(world)
      const token = await setUp.platform.tokenOf(auditor.identity)
      const permitted = async (questions: { identity: string; action: object; resource: string }[]) => {
        const requests = questions.map(({ identity, action, resource }) => ({
          identity,
          resource,
          ...action,
        }))
        const { decisions } = await api.call(auditor, AccessService.method.batchCheckAccess, {
          questions: requests,
        })
        return questions.filter((_, at) => decisions[at]?.allowed)
      }
      const identities = [...world.users, ...world.workloads].sort()
      const repos = world.repos.toSorted()
      for (let at = 0; at < 12; at++) {
        const capability = draw.one(demanded)
        const { name: method } = draw.one(
          methods.filter(({ access }) => (access?.capabilities.length ?? 0) > 1),
        )
        const [action, name] = draw.oneIn(3) ? [{ method }, method] : [{ capability }, capability]
        const [group, subject] = [draw.one(world.groups), draw.one(identities)]
        const holders = await permitted(identities.map((identity) => ({ identity, action, resource: group })))
        const asked = { action: { name }, resource: { type: 'group', id: group } }
        assert.deepEqual(
          await search('subject', { ...asked, subject: { type: 'identity' } }, token),
          holders.map(({ identity }) => identity),
        )
        if (repos.length === 0) continue
        const reached = await permitted(repos.map((resource) => ({ identity: subject, action, resource })))
        assert.deepEqual(
          await search(
            'resource',
            { action: { name }, subject: { type: 'identity', id: subject }, resource: { type: 'repo' } },
            token,
          ),
          reached.map(({ resource }) => resource),
        )
      }
    })
    await fc.assert(property, { numRuns: 4, unbiased: true, endOnFailure: true })
  })
})
