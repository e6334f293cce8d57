// Over random trees, limits and concurrent calls: the usage of a group never exceeds its limit, nothing is refused
// without reason, and a unit that was freed can be used again.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { isAtOrBelow } from '@stemma/server/aip/uid.ts'
import { checkTally } from '@stemma/server/store/check.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor, restDoor } from '@stemma/server/testing/doors.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import fc from 'fast-check'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { setLimits } from './operator-limits.ts'

const { createGroup, getGroupUsage } = GroupsService.method
const { createRepo, deleteRepo } = ReposService.method

/** `at` selects the group of a create, or the repo of a delete. */
type Step = { kind: 'create' | 'delete'; at: number }
/** The first element of `tree` is the organization. `parent` selects one of the groups before the element. */
type Scenario = { tree: { parent: number; limit: number | undefined }[]; rounds: Step[][] }

const step = fc.record<Step>({
  kind: fc.constantFrom('create', 'create', 'create', 'delete'),
  at: fc.nat(100),
})
const scenario = fc.record<Scenario>({
  tree: fc.array(
    fc.record({ parent: fc.nat(100), limit: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }) }),
    { minLength: 1, maxLength: 6 },
  ),
  rounds: fc.array(fc.array(step, { minLength: 1, maxLength: 16 }), { minLength: 1, maxLength: 3 }),
})

onEachStore('limits', (engine) => {
  let platform: Platform
  let doors: Door[]
  before(async () => {
    platform = await sharedPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  const doorOf = (index: number) => doors[index % doors.length] as Door // there are two
  let repoCount = 0

  /** Creates the tree and returns the uids of its groups and the limits by uid. */
  async function createTree({ tree }: Scenario, organization: string, token: string) {
    const uids = [organization]
    const limits = new Map<string, number>()
    for (const [index, { parent, limit }] of tree.entries()) {
      if (index > 0) {
        const request = { parent: uids[parent % uids.length] ?? '', group: { name: 'node' } }
        const { body } = await doorOf(index).call(createGroup, request, token)
        uids.push(body?.uid as string)
      }
      const uid = uids.at(-1) ?? ''
      const above = [...limits].filter(([group]) => isAtOrBelow(uid, group)).map(([, value]) => value)
      if (limit === undefined || above.some((value) => value < limit)) continue
      await setLimits(platform.store, uid, { repos: limit })
      limits.set(uid, limit)
    }
    return { uids, limits }
  }

  const repos = async (organization: string): Promise<string[]> => {
    const rows = await platform.store.query(sql`select uid from repos where root = ${organization}`)
    return rows.map(([uid]) => uid as string)
  }

  const createIn = (parent: string, token: string) => {
    const request = { parent, repo: { name: `r${++repoCount}` } }
    return doorOf(repoCount).call(createRepo, request, token)
  }

  test('hold over random trees and concurrent creates and deletes', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (plan) => {
        const { organization, token } = await platform.addOrganization('property.example')
        const { uids, limits } = await createTree(plan, organization, token)
        const used = (all: string[], group: string) => all.filter((uid) => isAtOrBelow(uid, group)).length
        const isFull = (all: string[], parent: string) =>
          [...limits].some(([group, limit]) => isAtOrBelow(parent, group) && used(all, group) >= limit)

        for (const steps of plan.rounds) {
          const existing = await repos(organization)
          const deleted = new Set(
            steps.filter(({ kind }) => kind === 'delete').map(({ at }) => existing[at % existing.length]),
          )
          deleted.delete(undefined)
          const parents = steps
            .filter(({ kind }) => kind === 'create')
            .map(({ at }) => uids[at % uids.length] ?? '')
          const [created, deletions] = await Promise.all([
            Promise.all(parents.map((parent) => createIn(parent, token))),
            Promise.all(
              [...deleted].map((uid, at) => doorOf(at).call(deleteRepo, { uid: uid ?? '' }, token)),
            ),
          ])
          for (const { error } of deletions) assert.equal(error, undefined)
          const left = await repos(organization)
          for (const [group, limit] of limits)
            assert.ok(used(left, group) <= limit, `${group} has more than ${limit}`)
          for (const [index, { error }] of created.entries()) {
            if (!error) continue
            assert.equal(error.code, 8, error.message)
            // The group or one above it was full, if the repos that were deleted in this round are counted too.
            const atMost = [...left, ...(deleted as Set<string>)]
            assert.ok(isFull(atMost, parents[index] ?? ''), 'refused without reason')
          }
        }

        for (const uid of uids) {
          const left = await repos(organization)
          assert.equal((await createIn(uid, token)).error?.code, isFull(left, uid) ? 8 : undefined)
          const victim = (await repos(organization)).find((repo) => isAtOrBelow(repo, uid))
          if (victim === undefined) continue
          await doorOf(0).call(deleteRepo, { uid: victim }, token)
          assert.equal((await createIn(uid, token)).error, undefined, 'a freed unit')
          const { body } = await doorOf(0).call(getGroupUsage, { uid }, token)
          const usage = (body?.kinds as { kind: string; used: string }[]).find(({ kind }) => kind === 'repos')
          assert.equal(usage?.used, String(used(await repos(organization), uid)))
        }
      }),
      { numRuns: 10 },
    )
    assert.deepEqual(await checkTally(platform.store, ['repos', 'groups'], false), [])
  })
})
