// Checks the query plans of lists of access: a page and its total must not read all role bindings of a large group.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { countSources } from '../../server/resources/iam/access/count-sources.ts'
import { readReach, sourcesOf } from '../../server/resources/iam/access/reach.ts'
import { readSourcesOf } from '../../server/resources/iam/access/source.ts'
import { readSourcesAt } from '../../server/resources/iam/access/sources-at.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import type { Sql } from '../../server/store/sql.ts'
import { raw, sql } from '../../server/store/sql.ts'
import type { Work } from '../../server/store/work.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

/** Enough that PostgreSQL, which chooses a plan by the size of the tables, does not read them whole. */
const bindingCounts = { sqlite: 50, postgres: 2000 }

onEachStore('query plans of access lists', (engine) => {
  const bindingCount = bindingCounts[engine]
  let platform: Platform
  let levels: string[]
  before(async () => {
    platform = await startPlatform(engine)
    const { organization } = platform.owner
    levels = [`${organization}/${'f'.repeat(16)}`, organization]
    const now = Date.now()
    const uids = Array.from(
      { length: bindingCount },
      (_, at) => `${organization}/${at.toString(16).padStart(16, '0')}`,
    )
    await platform.store.write(function* () {
      yield* createMany(
        identities,
        uids.map((uid) => [create(IdentitySchema, { name: 'many' }), { uid, now }]),
      )
      const role = builtInRole('viewer').uid
      yield* createMany(
        roleBindings,
        uids.map((uid) => [create(RoleBindingSchema), { uid, now, columns: { identity: uid, role } }]),
      )
    })
    await platform.store.query(raw('/*pg analyze role_bindings, identities, roles -- */ select 1'))
  })
  after(() => platform.stop())

  /** The plans of all statements of a piece of work, with its result. */
  async function run<T>(work: () => Work<T>): Promise<{ result: T; plans: string }> {
    const statements: Sql[] = []
    const result = await platform.store.read(function* () {
      const running = work()
      let step = running.next()
      while (!step.done) {
        statements.push(step.value)
        step = running.next(yield step.value)
      }
      return step.value
    })
    const command = raw(engine === 'sqlite' ? 'explain query plan' : 'explain (costs off)')
    const plans: unknown[] = []
    for (const statement of statements)
      for (const row of await platform.store.query(sql`${command} ${statement}`)) plans.push(row.at(-1))
    return { result, plans: plans.join('\n') }
  }

  /**
   * Neither engine reads a whole table or a whole index. SQLite calls both `SCAN`; PostgreSQL shows no condition below the
   * scan of a whole index.
   */
  const assertNoScan = (plans: string) => {
    assert.doesNotMatch(
      plans,
      /SCAN (?:b|i|m|role_bindings|identities|external_group_members)\b|Seq Scan on (?:role_bindings|identities)/im,
      plans,
    )
    assert.doesNotMatch(
      plans,
      /Index (?:Only )?Scan using \S+ on (?:role_bindings|identities)\b.*(?:\n(?! *Index Cond:)|$)/,
      plans,
    )
  }

  /**
   * Neither engine sorts the rows of a group. The node Merge Append of PostgreSQL has a sort key,
   * but does not sort. SQLite sorts the rows of the parts of the union (`s`), at most one page
   * of each.
   */
  const assertNoSort = (plans: string) =>
    assert.doesNotMatch(plans, /(?<!^SCAN s\n)USE TEMP B-TREE|\bSort\b(?! Key:)/m, plans)

  test('a page is read in the order of an index, with and without a filter by role', async () => {
    const time = Date.now()
    for (const roles of [undefined, [builtInRole('viewer').uid, builtInRole('owner').uid]]) {
      const page = await run(() => readSourcesAt({ levels, roles, time }, undefined, 11))
      assert.equal(page.result.length, 11)
      assertNoScan(page.plans)
      assertNoSort(page.plans)
      assert.match(page.plans, /role_bindings_by_parent/)
    }
  })

  test('the total is read from the tally or from an index', async () => {
    const time = Date.now()
    const all = await run(() => countSources({ levels, roles: undefined, time }))
    assert.equal(all.result, bindingCount + 1)
    assertNoScan(all.plans)
    const viewers = await run(() => countSources({ levels, roles: [builtInRole('viewer').uid], time }))
    assert.equal(viewers.result, bindingCount)
    if (engine === 'sqlite') assert.match(viewers.plans, /COVERING INDEX role_bindings_by_parent_role/)
  })

  test('the role bindings of an identity are found by the identity', async () => {
    const { identity } = platform.owner
    const { result, plans } = await run(() => readSourcesOf(identity, Date.now(), levels))
    assert.equal(result.length, 1)
    assertNoScan(plans)
  })

  test('the groups in which an identity has roles are read from a covering index', async () => {
    const { identity } = platform.owner
    const { result, plans } = await run(() => readReach(identity, Date.now()))
    assert.equal(result.length, 1)
    assertNoScan(plans)
    if (engine === 'sqlite') assert.match(plans, /COVERING INDEX role_bindings_granting/)
    const page = await run(() => sourcesOf(identity, result))
    assert.equal(page.result.length, 1)
    assertNoScan(page.plans)
  })
})
