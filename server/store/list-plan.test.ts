// Every form of list is served by the index made for it, so that a page costs the same in any organization.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEach, openMigrated } from './conformance.ts'
import type { Store } from './db.ts'
import { readPage, readRun } from './list.ts'
import type { Listing } from './page.ts'
import type { Region, Term } from './region-sql.ts'
import type { Sql, Value } from './sql.ts'
import { raw, sql } from './sql.ts'
import type { Table } from './table.ts'
import { insertEntry, storedForm } from './table.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

const groups: Table = {
  ...{ name: 'groups', columns: [], isPlace: true, isAtPlaces: true, isOrderedInPlace: true },
  rendered: storedForm,
}
const root = 'a'.repeat(40)
const other = 'b'.repeat(40)
const large = `${root}/${'1'.repeat(16)}`
const small = `${root}/${'2'.repeat(16)}`

const tree = (uid: string): Region => ({ kind: 'tree', uid })
const below = (uid: string): Region => ({ kind: 'below', uid })
const children = (uid: string): Region => ({ kind: 'children', uid })

onEach(['SQLite', 'PostgreSQL'], 'the plan of a list', (place) => {
  let store: Store
  before(async () => {
    store = await openMigrated(place())
    // Statistics of so small a table would tell PostgreSQL that any index will do.
    await store.write(() => all(raw('/*pg alter table groups set (autovacuum_enabled = off) -- */ select 1')))
    await store.write(plant)
  })

  /** How the engine runs the statement that fetches a page's rows. */
  async function plan(
    regions: Region[],
    order: Term[],
    more: Partial<Listing> = {},
    read: (table: Table, listing: Listing) => Work<unknown> = readPage,
  ): Promise<string> {
    const statements: Sql[] = []
    const form = { kind: 'json', shape: '' } as const
    const listing = { regions, order, filters: [], after: undefined, skip: 0, size: 5, form, ...more }
    await store.read(() => recorded(read(groups, listing), statements))
    const last = statements.at(-1) as Sql // a page with rows takes a statement
    const explain = store.engine === 'sqlite' ? 'explain query plan' : 'explain (costs off)'
    const rows = await store.query(sql`${raw(explain)} ${last}`)
    return rows.map((row) => String(row.at(-1)).trim()).join('\n')
  }

  const primary = () => (store.engine === 'sqlite' ? 'sqlite_autoindex_groups_1' : 'groups_pkey')
  const usesOnly = (found: string, ...indexes: string[]) => {
    const used = found.matchAll(
      /using (?:covering )?index (\w+)|index (?:only )?scan (?:backward )?using (\w+)/gi,
    )
    assert.deepEqual(
      new Set([...used].map(([, lite, postgres]) => lite ?? postgres)),
      new Set(indexes),
      found,
    )
    assert.doesNotMatch(found, /SCAN groups|Seq Scan/)
  }
  const isOrdered = (found: string) => assert.doesNotMatch(found, /TEMP B-TREE|Sort/)

  for (const descending of [false, true]) {
    for (const column of ['name', 'create_time', 'update_time']) {
      const order = [column, 'uid'].map((some) => ({ column: some, descending }))
      const after = [column === 'name' ? 'group-5' : 5, `${large}/0`] as Value[]
      test(`by ${column}${descending ? ' backwards' : ''} is the index of that order`, async () => {
        for (const some of [{}, { after }]) {
          for (const region of [tree(root), below(root), below(large)]) {
            const found = await plan([region], order, some)
            usesOnly(found, `groups_by_root_${column}`)
            isOrdered(found)
          }
          const found = await plan([children(large)], order, some)
          usesOnly(found, `groups_by_parent_${column}`)
          isOrdered(found)
          const inOrganization: typeof readPage = (table, listing) =>
            readPage({ ...table, isOrderedInPlace: false }, listing)
          const walked = await plan([children(large)], order, some, inOrganization)
          usesOnly(walked, `groups_by_root_${column}`)
          isOrdered(walked)
        }
      })
    }
  }

  test('by uid is the primary key, or the index of children', async () => {
    for (const descending of [false, true]) {
      for (const some of [{}, { after: [`${large}/0000000000000010`] }]) {
        const order = [{ column: 'uid', descending }]
        for (const region of [tree(root), below(root), below(large)]) {
          const found = await plan([region], order, some)
          usesOnly(found, primary())
          isOrdered(found)
        }
        const found = await plan([children(large)], order, some)
        usesOnly(found, 'groups_by_parent')
        isOrdered(found)
      }
    }
  })

  test('with its total is the index of the order, and those of the total', async () => {
    const tally = store.engine === 'sqlite' ? 'sqlite_autoindex_tally_1' : 'tally_pkey'
    for (const descending of [false, true]) {
      for (const column of ['name', 'create_time', 'update_time']) {
        const order = [column, 'uid'].map((some) => ({ column: some, descending }))
        for (const after of [undefined, [column === 'name' ? 'group-5' : 5, `${large}/0`]]) {
          const joined = async (region: Region) => {
            const found = await plan([region], order, { after, size: 10 })
            isOrdered(found)
            return found
          }
          usesOnly(await joined(tree(root)), `groups_by_root_${column}`, tally, primary())
          usesOnly(await joined(below(root)), `groups_by_root_${column}`, tally)
          usesOnly(await joined(children(large)), `groups_by_parent_${column}`, tally)
        }
      }
      for (const after of [undefined, [`${large}/0000000000000010`]]) {
        const found = await plan([below(large)], [{ column: 'uid', descending }], { after, size: 10 })
        usesOnly(found, primary(), tally)
        isOrdered(found)
      }
    }
  })

  test('by several columns starts with the index of the first, and sorts what is equal in it', async () => {
    for (const isMixed of [false, true]) {
      const order = [
        { column: 'name', descending: false },
        { column: 'create_time', descending: isMixed },
        { column: 'uid', descending: false },
      ]
      for (const some of [{}, { after: ['group-5', 5, large] }]) {
        const found = await plan([tree(root)], order, some)
        assert.match(found, /groups_by_root_name/)
        assert.match(found, /LAST 2 TERMS|Presorted Key: groups_1.name/)
      }
    }
  })

  test('of several regions is a merge of their indexes', async () => {
    const order = ['name', 'uid'].map((column) => ({ column, descending: false }))
    const found = await plan([tree(root), tree(other)], order)
    assert.match(found, /MERGE \(UNION ALL\)|Merge Append/)
    assert.match(found, /groups_by_root_name/)
    assert.doesNotMatch(found, /SCAN groups|Seq Scan|groups_by_root_\w+_time/)
  })

  test('of a small group in a large organization is the primary key, sorted', async () => {
    const order = ['name', 'uid'].map((column) => ({ column, descending: false }))
    usesOnly(await plan([below(small)], order), primary())
  })

  test('by name alone is the index of names, whatever the place', async () => {
    const order = [{ column: 'uid', descending: false }]
    const filters = [sql`name = ${'group-5'}`]
    for (const region of [tree(root), below(root), below(large)]) {
      const found = await plan([region], order, { filters })
      usesOnly(found, 'groups_by_root_name')
      isOrdered(found)
    }
    usesOnly(await plan([children(large)], order, { filters }), 'groups_by_parent_name')
  })

  test('that is read to its end goes on where the page before has ended, whatever it is filtered by', async () => {
    for (const descending of [false, true]) {
      for (const some of [{}, { after: [`${large}/0000000000000010`] }]) {
        const filters = [sql`length(name) > ${3}`]
        for (const region of [tree(root), below(root), below(large)]) {
          const found = await plan([region], [{ column: 'uid', descending }], { filters, ...some }, readRun)
          usesOnly(found, primary())
          isOrdered(found)
        }
      }
    }
  })
})

function* recorded<T>(work: Work<T>, statements: Sql[]): Work<T> {
  let step = work.next()
  while (!step.done) {
    statements.push(step.value)
    step = work.next(yield step.value)
  }
  return step.value
}

/** Two organizations; one has a group of many and a group of few. */
function* plant(): Work<void> {
  const segment = (at: number) => at.toString(16).padStart(16, '0')
  const many = Array.from({ length: 400 }, (_, at) => `${at % 20 === 0 ? small : large}/${segment(at)}`)
  for (const [at, uid] of [root, other, large, small, `${other}/${segment(1)}`, ...many].entries()) {
    const above = uid.split('/').map((_, depth, path) => path.slice(0, depth + 1).join('/'))
    above.pop()
    const entry = {
      uid,
      root: uid.slice(0, 40),
      name: `group-${at % 9}`,
      parent: above.at(-1) ?? null,
      columns: {},
    }
    const stored = { proto: new Uint8Array(), json: '{}', shape: '', createTime: at, updateTime: at }
    yield* insertEntry(groups, { ...entry, ...stored }, above)
  }
}
