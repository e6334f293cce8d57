// Stores with one organization of a given size. They are kept in the temporary folder between runs, because making
// the largest takes longer than measuring it.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { lineage, parentOf } from '../../server/aip/uid.ts'
import { makeOrganization } from '../../server/commands/make-organization.ts'
import type { Config } from '../../server/config/config.ts'
import { readConfig } from '../../server/config/config.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { entryOf } from '../../server/resources/kind.ts'
import { openStore, prepareStore, talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { systemClock } from '../../server/store/clock.ts'
import type { Connection } from '../../server/store/sqlite/connection.ts'
import { connect } from '../../server/store/sqlite/connection.ts'
import { runWork } from '../../server/store/sqlite/run-work.ts'
import { insertUncounted } from '../../server/store/table.ts'
import type { Count } from '../../server/store/tally.ts'
import { treeBelow } from './tree.ts'

export type HugeStore = {
  settings: string[]
  organization: string
  identity: string
  /** The uid of a group in the organization, with 100 groups below it. */
  team: string
}

const prefix = 'stemma-bench-huge-'

/** The store of an organization with `count` groups below it. */
export async function hugeStore(count: number): Promise<HugeStore> {
  const folderName = `${prefix}${fingerprint()}`
  const folder = join(tmpdir(), folderName, String(count))
  const settings = ['--data-dir', folder, '--base-url', 'http://stemma.test']
  const facts = join(folder, 'facts.json')
  if (!existsSync(facts)) {
    removeAllBut(folderName)
    await makeStore(folder, count)
  }
  return { settings, ...JSON.parse(readFileSync(facts, 'utf8')) }
}

/** Removes stores that other versions of the code made, because they take gigabytes. */
function removeAllBut(folderName: string): void {
  const others = globSync(`${prefix}*`, { cwd: tmpdir() }).filter((name) => name !== folderName)
  for (const name of others) rmSync(join(tmpdir(), name), { recursive: true, force: true })
}

/** A hash of the files that determine the content of the stores. */
function fingerprint(): string {
  const hash = createHash('sha256').update(groups.shape)
  const root = join(import.meta.dirname, '../..')
  const files = [
    'server/store/{migrations/*,sqlite/connection.ts,table.ts,tally.ts}',
    'server/resources/kind.ts',
    'bench/stores/{huge,tree}.ts',
  ]
  for (const file of globSync(files, { cwd: root }).sort()) hash.update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

async function makeStore(folder: string, count: number): Promise<void> {
  const draftFolder = `${folder}.${process.pid}`
  // Also the drafts of runs that were interrupted.
  for (const each of [folder, ...globSync(`${folder}.*`)]) rmSync(each, { recursive: true, force: true })
  mkdirSync(draftFolder, { recursive: true, mode: 0o700 })
  const { config } = readConfig({}, ['--data-dir', draftFolder])
  const { organization, identity } = await createOrganization(config)
  const team = fill(join(draftFolder, 'stemma.db'), organization, count)
  await requireCorrectTally(config)
  writeFileSync(join(draftFolder, 'facts.json'), JSON.stringify({ organization, identity, team }))
  renameSync(draftFolder, folder)
}

async function createOrganization(config: Config) {
  const store = openStore(config)
  await prepareStore(config, store)
  const made = await makeOrganization(
    { store, authUrl: config.authUrl, now: Date.now, random: randomBytes },
    'huge',
  )
  await store.close()
  return made
}

/**
 * Writes rows, tally and indexes directly, because writing through the store would take minutes. Returns the uid of a
 * team in the middle of the insertion order.
 */
function fill(file: string, organization: string, count: number): string {
  const connection = connect(file, { isReadOnly: false, clock: systemClock })
  const { db } = connection
  db.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -500000')
  const selectIndexes = db.prepare(
    `select name, sql from sqlite_master where tbl_name = 'groups' and sql like 'create index%'`,
  )
  const droppedIndexes = selectIndexes.all() as { name: string; sql: string }[] // the selected columns
  for (const { name } of droppedIndexes) db.exec(`drop index ${name}`)
  db.exec('begin')
  const { counts, team } = insertGroups(connection, organization, count)
  insertTally(db, counts)
  for (const { sql } of droppedIndexes) db.exec(sql)
  db.exec('commit; pragma journal_mode = wal')
  db.close()
  return team
}

function insertGroups(connection: Connection, organization: string, count: number) {
  const counts = new Map<string, Count>()
  const start = Date.now() - count
  let team = ''
  let insertedCount = 0
  for (const { uid, group } of treeBelow(organization, count)) {
    const time = start + insertedCount
    const stamped = { ...group, uid, createTime: timestampFromMs(time), updateTime: timestampFromMs(time) }
    const entry = entryOf(groups, stamped, { uid, name: group.name, createTime: time, updateTime: time })
    runWork(connection, insertUncounted(operatorAccess, groups.table, [entry]))
    const parent = parentOf(uid)
    if (parent === organization && insertedCount <= count / 2) team = uid
    for (const place of lineage(parent)) {
      const { children, subtree } = counts.get(place) ?? { children: 0, subtree: 0 }
      counts.set(place, { children: children + (place === parent ? 1 : 0), subtree: subtree + 1 })
    }
    insertedCount++
  }
  return { counts, team }
}

function insertTally(db: DatabaseSync, counts: Map<string, Count>): void {
  const insert = db.prepare(
    'insert into tally (kind, place, stripe, children, subtree) values (?, ?, 0, ?, ?)',
  )
  for (const [place, { children, subtree }] of counts) insert.run(groups.table.name, place, children, subtree)
}

async function requireCorrectTally(config: Config): Promise<void> {
  const store = openStore(config)
  const wrong = await checkTally(store, talliedKinds, false)
  await store.close()
  if (wrong.length > 0) throw new Error(`${wrong.length} tallies of the seeded store are wrong`)
}
