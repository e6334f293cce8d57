// Checks the query plans of lists: each list uses the index made for it, so that reading a page takes about equally long
// in an organization of any size.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { operatorAccess } from '../../policy/system-access.ts'
import type { Store } from '../db.ts'
import type { Sql, Value } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import type { Table } from '../table.ts'
import { insertEntry, storedForm } from '../table.ts'
import { onEachMigrated, openMigrated, recordStatements } from '../test-stores.ts'
import type { Work } from '../work.ts'
import { all } from '../work.ts'
import type { Listing, Region, Term } from './listing.ts'
import { readPage, readUncountedPage } from './read-page.ts'

const groups: Table = {
  ...{ name: 'groups', columns: [], hasChildren: true, hasGroupUids: true, isIndexedByParent: true },
  rendered: storedForm,
}
const root = 'a'.repeat(40)
const other = 'b'.repeat(40)
const large = `${root}/${'1'.repeat(16)}`
const small = `${root}/${'2'.repeat(16)}`

const tree = (uid: string): Region => ({ kind: 'tree', uid })
const below = (uid: string): Region => ({ kind: 'below', uid })
const children = (uid: string): Region => ({ kind: 'children', uid })

onEachMigrated(['SQLite', 'PostgreSQL'], 'index use of lists', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
    // Without autovacuum, there are no statistics. With statistics, PostgreSQL would consider all indexes of this small
    // table equally good.
    await store.write(() => all(raw('/*pg alter table groups set (autovacuum_enabled = off) -- */ select 1')))
    await store.write(insertTree)
  })

  /** The query plan of the statement that reads the rows of a page. */
  async function explain(
    regions: Region[],
    order: Term[],
    changes: Partial<Listing> = {},
    read: (table: Table, listing: Listing) => Work<unknown> = readPage,
  ): Promise<string> {
    const statements: Sql[] = []
    const form = { kind: 'json', shape: '' } as const
    const listing = { regions, order, filters: [], after: undefined, skip: 0, size: 5, form, ...changes }
    await store.read(() => recordStatements(read(groups, listing), statements))
    const lastStatement = statements.at(-1) as Sql // reading a page takes at least one statement
    const command = store.engine === 'sqlite' ? 'explain query plan' : 'explain (costs off)'
    const rows = await store.query(sql`${raw(command)} ${lastStatement}`)
    return rows.map((row) => String(row.at(-1)).trim()).join('\n')
  }

  const primaryKey = () => (store.engine === 'sqlite' ? 'sqlite_autoindex_groups_1' : 'groups_pkey')
  const assertUsesOnly = (plan: string, ...indexes: string[]) => {
    const used = plan.matchAll(
      /using (?:covering )?index (\w+)|index (?:only )?scan (?:backward )?using (\w+)/gi,
    )
    assert.deepEqual(new Set([...used].map(([, sqlite, pg]) => sqlite ?? pg)), new Set(indexes), plan)
    assert.doesNotMatch(plan, /SCAN groups|Seq Scan/)
  }
  const assertOrdered = (plan: string) => assert.doesNotMatch(plan, /TEMP B-TREE|Sort/)

  for (const descending of [false, true]) {
    for (const column of ['name', 'create_time', 'update_time']) {
      const order = [column, 'uid'].map((name) => ({ column: name, descending }))
      const after = [column === 'name' ? 'group-5' : 5, `${large}/0`] as Value[]
      test(`a list by ${column}${descending ? ' descending' : ''} uses the index of that order`, async () => {
        for (const cursor of [{}, { after }]) {
          for (const region of [tree(root), below(root), below(large)]) {
            const plan = await explain([region], order, cursor)
            assertUsesOnly(plan, `groups_by_root_${column}`)
            assertOrdered(plan)
          }
          const plan = await explain([children(large)], order, cursor)
          assertUsesOnly(plan, `groups_by_parent_${column}`)
          assertOrdered(plan)
          const readWithoutParentIndexes: typeof readPage = (table, listing) =>
            readPage({ ...table, isIndexedByParent: false }, listing)
          const rootPlan = await explain([children(large)], order, cursor, readWithoutParentIndexes)
          assertUsesOnly(rootPlan, `groups_by_root_${column}`)
          assertOrdered(rootPlan)
        }
      })
    }
  }

  test('a list by uid uses the primary key or the index of children', async () => {
    for (const descending of [false, true]) {
      for (const cursor of [{}, { after: [`${large}/0000000000000010`] }]) {
        const order = [{ column: 'uid', descending }]
        for (const region of [tree(root), below(root), below(large)]) {
          const plan = await explain([region], order, cursor)
          assertUsesOnly(plan, primaryKey())
          assertOrdered(plan)
        }
        const plan = await explain([children(large)], order, cursor)
        assertUsesOnly(plan, 'groups_by_parent')
        assertOrdered(plan)
      }
    }
  })

  test('a page whose JSON is concatenated in SQL uses the index of its order and the indexes for its total', async () => {
    const tally = store.engine === 'sqlite' ? 'sqlite_autoindex_tally_1' : 'tally_pkey'
    const size = 10 // only pages of a size in `pageSizes` (plan.ts) are concatenated
    for (const descending of [false, true]) {
      for (const column of ['name', 'create_time', 'update_time']) {
        const order = [column, 'uid'].map((name) => ({ column: name, descending }))
        for (const after of [undefined, [column === 'name' ? 'group-5' : 5, `${large}/0`]]) {
          const explainJoined = async (region: Region) => {
            const plan = await explain([region], order, { after, size })
            assertOrdered(plan)
            return plan
          }
          assertUsesOnly(await explainJoined(tree(root)), `groups_by_root_${column}`, tally, primaryKey())
          assertUsesOnly(await explainJoined(below(root)), `groups_by_root_${column}`, tally)
          assertUsesOnly(await explainJoined(children(large)), `groups_by_parent_${column}`, tally)
        }
      }
      for (const after of [undefined, [`${large}/0000000000000010`]]) {
        const plan = await explain([below(large)], [{ column: 'uid', descending }], { after, size })
        assertUsesOnly(plan, primaryKey(), tally)
        assertOrdered(plan)
      }
    }
  })

  test('a list by several columns uses the index of the first column and sorts only rows that are equal in that column', async () => {
    for (const isMixed of [false, true]) {
      const order = [
        { column: 'name', descending: false },
        { column: 'create_time', descending: isMixed },
        { column: 'uid', descending: false },
      ]
      for (const cursor of [{}, { after: ['group-5', 5, large] }]) {
        const plan = await explain([tree(root)], order, cursor)
        assert.match(plan, /groups_by_root_name/)
        assert.match(plan, /LAST 2 TERMS|Presorted Key: groups_1.name/)
      }
    }
  })

  test('a list of several regions merges their indexes', async () => {
    const order = ['name', 'uid'].map((column) => ({ column, descending: false }))
    const plan = await explain([tree(root), tree(other)], order)
    assert.match(plan, /MERGE \(UNION ALL\)|Merge Append/)
    assert.match(plan, /groups_by_root_name/)
    assert.doesNotMatch(plan, /SCAN groups|Seq Scan|groups_by_root_\w+_time/)
  })

  test('a small group in a large organization is read by primary key and sorted', async () => {
    const order = ['name', 'uid'].map((column) => ({ column, descending: false }))
    assertUsesOnly(await explain([below(small)], order), primaryKey())
  })

  test('a list filtered by name uses the index of names in every region', async () => {
    const order = [{ column: 'uid', descending: false }]
    const filters = [sql`name = ${'group-5'}`]
    for (const region of [tree(root), below(root), below(large)]) {
      const plan = await explain([region], order, { filters })
      assertUsesOnly(plan, 'groups_by_root_name')
      assertOrdered(plan)
    }
    assertUsesOnly(await explain([children(large)], order, { filters }), 'groups_by_parent_name')
  })

  test('a page without a total is read by primary key from its cursor, whatever the filter', async () => {
    for (const descending of [false, true]) {
      for (const cursor of [{}, { after: [`${large}/0000000000000010`] }]) {
        const filters = [sql`length(name) > ${3}`]
        for (const region of [tree(root), below(root), below(large)]) {
          const plan = await explain(
            [region],
            [{ column: 'uid', descending }],
            { filters, ...cursor },
            readUncountedPage,
          )
          assertUsesOnly(plan, primaryKey())
          assertOrdered(plan)
        }
      }
    }
  })
})

/** Two organizations; one of them has a large group and a small one. */
function* insertTree(): Work<void> {
  const segment = (at: number) => at.toString(16).padStart(16, '0')
  const leaves = Array.from({ length: 400 }, (_, at) => `${at % 20 === 0 ? small : large}/${segment(at)}`)
  for (const [at, uid] of [root, other, large, small, `${other}/${segment(1)}`, ...leaves].entries()) {
    const ancestors = uid.split('/').map((_, depth, path) => path.slice(0, depth + 1).join('/'))
    ancestors.pop()
    const entry = {
      uid,
      root: uid.slice(0, 40),
      name: `group-${at % 9}`,
      parent: ancestors.at(-1) ?? null,
      columns: {},
    }
    const stored = { proto: new Uint8Array(), json: '{}', shape: '', createTime: at, updateTime: at }
    yield* insertEntry(operatorAccess, groups, { ...entry, ...stored }, ancestors)
  }
}
