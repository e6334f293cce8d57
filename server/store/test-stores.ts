// The stores that the tests of this room run on. Each call of `onEach` names kinds of store and creates an empty store of
// each kind, which the tests of the call share.
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { migratedTemplates } from '../testing/migrated-templates.ts'
import { createDatabase } from '../testing/postgres.ts'
import type { Store } from './db.ts'
import { loadMigrations } from './migrations.ts'
import { openPostgres } from './postgres/postgres.ts'
import type { Row, Sql, Value } from './sql.ts'
import { sql } from './sql.ts'
import { openSqlite } from './sqlite/sqlite.ts'
import { contentOf } from './statement/statement.ts'
import { StoreError } from './store-error.ts'
import type { Work } from './work.ts'
import { all } from './work.ts'

export const storeKinds = ['SQLite', 'PostgreSQL', 'PostgreSQL in English order'] as const
export type StoreKind = (typeof storeKinds)[number]

export type TestStore = {
  /** The path of the file, or the URL of the database. */
  address: string
  /** Opens the store once more, as another process would. */
  open(): Store
  /** Runs a statement in a separate transaction, while the work that calls this is running. */
  runElsewhere(statement: Sql): Work<Row[]>
  remove(): Promise<void>
}

const clusterUrl = process.env.STEMMA_TEST_POSTGRES ?? ''

type Tests = (testStore: () => TestStore) => void

/** Runs the tests on each kind of store. Tests of PostgreSQL are reported as skipped if it is not running. */
export const onEach = (kinds: readonly StoreKind[], name: string, tests: Tests) =>
  declare(kinds, name, tests, false)

/**
 * The same with stores that have all tables, for `openMigrated`. They are copied, because the migrations take 60 ms of
 * CPU time on SQLite and 300 on PostgreSQL.
 */
export const onEachMigrated = (kinds: readonly StoreKind[], name: string, tests: Tests) =>
  declare(kinds, name, tests, true)

function declare(kinds: readonly StoreKind[], name: string, tests: Tests, isMigrated: boolean): void {
  for (const kind of kinds) {
    const isMissing = kind !== 'SQLite' && clusterUrl === ''
    const skip = isMissing && 'PostgreSQL is not running: STEMMA_TEST_POSTGRES is not set'
    describe(`${name} (${kind})`, { skip }, () => {
      let testStore: TestStore
      before(async () => {
        testStore = await makeTestStore(kind, isMigrated)
      })
      after(() => testStore.remove())
      tests(() => testStore)
    })
  }
}

/** Opens the store and creates all tables that it does not have. */
export async function openMigrated(testStore: TestStore): Promise<Store> {
  const store = testStore.open()
  await store.migrate(loadMigrations())
  return store
}

async function makeTestStore(kind: StoreKind, isMigrated: boolean): Promise<TestStore> {
  if (kind === 'SQLite') return makeSqliteStore(isMigrated)
  const template = isMigrated ? process.env[migratedTemplates.postgres] : undefined
  const database =
    kind === 'PostgreSQL' ? await createDatabase(clusterUrl, template) : await createEnglishDatabase()
  const { opened, open } = trackOpened(() => openPostgres({ url: database.url }))
  const other = open()
  return {
    address: database.url,
    open,
    *runElsewhere(statement) {
      let outcome: { rows: Row[] } | { error: unknown } | undefined
      other
        .write(() => all(statement))
        .then(
          (rows) => {
            outcome = { rows }
          },
          (error: unknown) => {
            outcome = { error }
          },
        )
      // A work can wait only for the store, so it runs statements until the other transaction has ended.
      for (;;) {
        yield sql`select 1`
        if (outcome && 'error' in outcome) throw outcome.error
        if (outcome) return outcome.rows
      }
    },
    async remove() {
      await Promise.all(opened.map((store) => store.close()))
      await database.drop()
    },
  }
}

async function makeSqliteStore(isMigrated: boolean): Promise<TestStore> {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-store-'))
  const template = process.env[migratedTemplates.sqlite]
  if (isMigrated && template !== undefined) await cp(template, folder, { recursive: true })
  const address = join(folder, 'stemma.db')
  const { opened, open } = trackOpened(() => openSqlite(address))
  return {
    address,
    open,
    // biome-ignore lint/correctness/useYield: SQLite runs it synchronously
    *runElsewhere(sql) {
      const { template, values } = contentOf(sql)
      const other = new DatabaseSync(address)
      const statement = other.prepare(template.join('?'))
      statement.setReturnArrays(true)
      const rows = statement.all(...(values as Value[]))
      other.close()
      return rows as unknown as Row[] // rows are arrays: setReturnArrays
    },
    async remove() {
      await Promise.all(opened.map((store) => store.close()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function trackOpened(make: () => Store) {
  const opened: Store[] = []
  return {
    opened,
    open() {
      const store = make()
      opened.push(store)
      return store
    },
  }
}

/** A database in which text sorts by an English locale, unless a column has a collation. */
async function createEnglishDatabase() {
  const name = `stemma_english_${randomBytes(8).toString('hex')}`
  const locale = `locale_provider icu icu_locale 'en-US' encoding 'UTF8'`
  const execute = async (statement: string) => {
    const client = new pg.Client(clusterUrl)
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await execute(`create database ${name} template template0 ${locale}`)
  const url = new URL(clusterUrl)
  url.pathname = name
  return { url: url.href, drop: () => execute(`drop database ${name} with (force)`) }
}

export const isStoreError = (kind: string) => (error: unknown) =>
  error instanceof StoreError && error.kind === kind

/** Performs the work, and adds its statements to the list. */
export function* recordStatements<T>(work: Work<T>, statements: Sql[]): Work<T> {
  let step = work.next()
  while (!step.done) {
    statements.push(step.value)
    step = work.next(yield step.value)
  }
  return step.value
}
