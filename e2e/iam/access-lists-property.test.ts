// docs/specification.md, Roles and bindings (Access questions, AuthZEN): over random worlds, lists of access contain exactly
// what a naive search of the role bindings finds, and searches of AuthZEN exactly what CheckAccess permits.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AccessEntry } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { services } from '@stemma/api/gen/services-v2beta1.ts'
import { describeMethods } from '@stemma/api/method.ts'
import fc from 'fast-check'
import { nameOf } from '../../server/policy/capabilities.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Caller } from '../../server/wire/caller.ts'
import { drawFrom } from './draw.ts'
import type { InProcess } from './in-process.ts'
import { openInProcess } from './in-process.ts'
import type { World } from './world.ts'
import { anyPlan, isWithin } from './world.ts'
import { auditorOf, completed } from './world-access.ts'
import type { WorldPlatform } from './world-platform.ts'
import { startWorldPlatform } from './world-platform.ts'

const worldCount = 4
const questionsPerWorld = 6

const methods = services.flatMap(describeMethods)
const demanded = [...new Set(methods.flatMap(({ access }) => access?.capabilities ?? []))].map(nameOf)

/** One way in which an identity has a role in a group, at `now`. */
type Source = { identity: string; binding: World['bindings'][number] }

function sourcesOf({ bindings, mappings, members = [] }: World, now: number): Source[] {
  const isLive = ({ expireTime = Number.POSITIVE_INFINITY }) => expireTime > now
  return bindings.filter(isLive).flatMap((binding) => {
    const mapping = mappings.find((each) => each.binding === binding.uid)
    if (!mapping) return [{ identity: binding.identity, binding }]
    return members
      .filter((member) => member.mapping === mapping.uid && isLive(member))
      .map(({ identity }) => ({ identity, binding }))
  })
}

const textOf = ({ identity, binding }: Source) =>
  `${identity} ${binding.role.uid} ${binding.group} ${binding.uid}`
const textOfEntry = ({ identity, role, group, roleBindingUid }: AccessEntry) =>
  `${identity?.uid} ${role?.uid} ${group?.uid} ${roleBindingUid}`

onEachStore('access', (engine) => {
  let setUp: WorldPlatform
  let now = Date.now()
  let api: InProcess
  before(async () => {
    setUp = await startWorldPlatform(engine)
    api = openInProcess(setUp.platform, () => now)
  })
  after(() => setUp.stop())

  /** All entries of a list, in pages. Checks the total. */
  async function listAll(
    list: (page: { pageSize: number; pageToken: string }) => Promise<{
      entries: AccessEntry[]
      nextPageToken: string
      totalCount?: bigint | undefined
    }>,
  ): Promise<string[]> {
    const texts: string[] = []
    let pageToken = ''
    do {
      const page = await list({ pageSize: 7, pageToken })
      texts.push(...page.entries.map(textOfEntry))
      pageToken = page.nextPageToken
      if (pageToken === '') assert.equal(Number(page.totalCount), texts.length)
    } while (pageToken !== '')
    return texts.sort()
  }

  test('lists contain exactly the role bindings that give the access', async () => {
    const property = fc.asyncProperty(anyPlan(demanded), async (plan) => {
      now = Date.now()
      const draw = drawFrom(plan.salt)
      const world = await setUp.load(plan, (drawn) => completed(draw, drawn, now))
      const auditor = auditorOf(world)
      const sources = sourcesOf(world, now)
      for (let at = 0; at < questionsPerWorld; at++) {
        const resource = draw.one([...world.groups, ...world.repos, ...world.workloads])
        const capability = draw.oneIn(2) ? draw.one(demanded) : ''
        const identity = draw.one([...world.users, ...world.workloads])
        const has = ({ binding }: Source) => capability === '' || binding.role.capabilities.has(capability)
        const here = sources.filter((source) => has(source) && isWithin(resource, source.binding.group))
        const listAt = (caller: Caller, of: string) =>
          listAll((page) =>
            api.call(caller, AccessService.method.listAccess, {
              resource,
              capability,
              identity: of,
              ...page,
            }),
          )
        assert.deepEqual(await listAt(auditor, ''), here.map(textOf).sort())
        const ofIdentity = here.filter((source) => source.identity === identity)
        assert.deepEqual(await listAt(auditor, identity), ofIdentity.map(textOf).sort())
        const reachOf = (caller: Caller, of: string, group: string) =>
          listAll((page) =>
            api.call(caller, AccessService.method.listReach, { identity: of, capability, group, ...page }),
          )
        const group = draw.oneIn(2) ? draw.one(world.groups) : ''
        const reach = sources
          .filter((source) => source.identity === identity && has(source))
          .filter(({ binding }) => group === '' || isWithin(binding.group, group))
        assert.deepEqual(await reachOf(auditor, identity, group), reach.map(textOf).sort())
        const self = { ...auditor, identity }
        assert.deepEqual((await reachOf(self, '', group)).length, reach.length)
      }
    })
    await fc.assert(property, { numRuns: worldCount, unbiased: true, endOnFailure: true })
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

  test('searches of AuthZEN find exactly what CheckAccess permits', async () => {
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
      for (let at = 0; at < questionsPerWorld; at++) {
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
    await fc.assert(property, { numRuns: worldCount, unbiased: true, endOnFailure: true })
  })
})
