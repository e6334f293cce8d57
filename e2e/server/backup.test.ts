// A backup of a store in use, restored into either engine.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { readConfig } from '../../server/config/config.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { openStore, prepareStore, talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import type { Store } from '../../server/store/db.ts'
import type { Portion } from '../../server/store/dump.ts'
import { dumpedTables, loadMigrations } from '../../server/store/migrations.ts'
import { sql } from '../../server/store/sql.ts'
import { copyGroup } from '../../server/testing/group-copies.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { sealAll } from '../../server/testing/sealed-events.ts'
import type { Engine } from '../../server/testing/stores.ts'
import { onEachStore, temporaryStore } from '../../server/testing/stores.ts'
import { addScimProvider } from '../scim/scim-platform.ts'
import { remove, runStemmadInline, temporaryFolder } from './stemmad.ts'

onEachStore('a backup', (engine) => {
  let platform: Platform
  let folder: string
  let settings: string[]
  let key: string
  before(async () => {
    platform = await startPlatform(engine)
    folder = await temporaryFolder()
    const { dataDir, databaseUrl, secretKey } = platform.config
    key = secretKey ?? readFileSync(join(dataDir, 'secret.key'), 'utf8').trim()
    settings = ['--data-dir', dataDir, ...(databaseUrl ? ['--database-url', databaseUrl] : [])]
    const { organization } = platform.owner
    await platform.addUser('ada@example.com')
    const scim = await addScimProvider(platform, platform.owner)
    const { id = '' } = await scim.expect(201, 'POST', '/Users', { userName: 'ada', externalId: 'ada' })
    await scim.expect(201, 'POST', '/Groups', { displayName: 'people', members: [{ value: id }] })
    const team = `${organization}/${'f'.repeat(16)}`
    const copied = `${team}/${'f'.repeat(16)}`
    await platform.store.write(function* () {
      for (const uid of [team, copied])
        yield* createEntry(operatorAccess, groups, create(GroupSchema, { name: 'team' }), {
          uid,
          now: Date.now(),
        })
    })
    // More rows of a table than one portion of a backup has (500).
    await copyGroup(platform.store, copied, 700)
    const record = join(folder, 'record.json')
    const content = JSON.stringify({
      ...{ id: 'GHSA-2222-3333-4444', modified: '2026-02-03T04:05:06Z', aliases: ['CVE-2026-1'] },
      affected: [{ package: { ecosystem: 'npm', name: 'left-pad' }, versions: ['1.0'] }],
    })
    await writeFile(record, content)
    const imported = await run('import', 'advisories', '--group', organization, record, ...settings)
    assert.equal(imported.code, 0, imported.stderr)
    await sealAll(platform.store) // otherwise the server seals events between a backup and a comparison
  })
  after(async () => {
    await platform.stop()
    await remove(folder)
  })

  const run = (...args: string[]) => runStemmadInline([...args, `--secret-key=${key}`])

  async function backUp(name: string): Promise<string> {
    const file = join(folder, name)
    const { code, stderr } = await run('backup', file, ...settings)
    assert.equal(code, 0, stderr)
    return file
  }

  /** All rows of a store but its migrations and the log of the server, which records backups and restores. */
  async function contentOf(store: Store): Promise<Map<string, string[]>> {
    const content = new Map<string, string[]>()
    for await (const { table, rows } of store.snapshot(dumpedTables(loadMigrations()))) {
      if (table !== 'migrations') content.set(table, [...(content.get(table) ?? []), ...rows.map(textOf)])
    }
    const isKept = (row: string) => !row.includes('"server"')
    return new Map([...content].map(([table, rows]) => [table, rows.filter(isKept).sort()]))
  }
  const textOf = (row: Portion['rows'][number]) =>
    JSON.stringify(row.map((value) => (value instanceof Uint8Array ? [...value] : value)))

  async function withEmptyStore(
    target: Engine,
    use: (targetSettings: string[]) => Promise<void>,
  ): Promise<void> {
    const store = await temporaryStore(target)
    try {
      // Without the secret key of the new store, because `run` adds that of the backup.
      await use(store.settings.slice(0, target === 'sqlite' ? 2 : 4))
    } finally {
      await store.remove()
    }
  }

  /** Checks the totals of a restored store and returns its content. */
  async function restoredContentOf(targetSettings: string[]): Promise<Map<string, string[]>> {
    const { config } = readConfig({}, [...targetSettings, `--secret-key=${key}`])
    const store = openStore(config)
    try {
      await prepareStore(config, store)
      assert.deepEqual(await checkTally(store, talliedKinds, false), [])
      return await contentOf(store)
    } finally {
      await store.close()
    }
  }

  /** Makes a store look like one of an older version. Its last migration would fail if it were applied again. */
  async function forgetLastMigration(targetSettings: string[]): Promise<void> {
    const store = openStore(readConfig({}, [...targetSettings, `--secret-key=${key}`]).config)
    try {
      await store.write(function* () {
        yield sql`delete from migrations where name = (select max(name) from migrations)`
      })
    } finally {
      await store.close()
    }
  }

  for (const target of ['sqlite', 'postgres'] as const) {
    test(`can be restored into ${target === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`, async (t) => {
      if (target === 'postgres' && !process.env.STEMMA_TEST_POSTGRES)
        return t.skip('PostgreSQL is not running')
      const file = await backUp(`to-${target}`)
      assert.equal((await stat(file)).mode & 0o777, 0o600)
      await withEmptyStore(target, async (targetSettings) => {
        const { code, stdout, stderr } = await run('restore', file, ...targetSettings)
        assert.equal(code, 0, stderr)
        assert.match(stdout, /^Restored [\d,]+ rows\.$/m)
        assert.deepEqual(await restoredContentOf(targetSettings), await contentOf(platform.store))
        await forgetLastMigration(targetSettings)
        const again = await run('restore', file, ...targetSettings)
        assert.equal(again.code, 1)
        assert.match(again.stderr, /the store is not empty/)
      })
    })
  }

  test('is a consistent snapshot during writes', async () => {
    const { organization } = platform.owner
    let isBackedUp = false
    const writing = (async () => {
      for (let at = 0; !isBackedUp; at++) {
        const uid = `${organization}/${at.toString(16).padStart(16, '0')}`
        await platform.store.write(() =>
          createEntry(operatorAccess, groups, create(GroupSchema, { name: `g${at}` }), {
            uid,
            now: Date.now(),
          }),
        )
      }
    })()
    const file = await backUp('busy').finally(() => {
      isBackedUp = true
    })
    await writing
    await withEmptyStore('sqlite', async (targetSettings) => {
      assert.equal((await run('restore', file, ...targetSettings)).code, 0)
      // Fails if the tally differs from the number of groups in the snapshot.
      await restoredContentOf(targetSettings)
    })
  })

  // All backups have the same form, and these are restored into SQLite.
  const sqliteOnly = { skip: engine === 'postgres' && 'a backup does not depend on the store' }
  test(
    'is refused if it is damaged or incomplete, and a partly restored store cannot be used',
    sqliteOnly,
    async () => {
      const file = await backUp('whole')
      const lines = gunzipSync(await readFile(file))
        .toString()
        .split('\n')
      const broken: [string, Buffer, RegExp][] = [
        ['short', gzipSync(lines.slice(0, -2).join('\n')), /its end is missing/],
        ['lost', gzipSync([...lines.slice(0, 40), ...lines.slice(41)].join('\n')), /should have [\d]+ rows/],
        ['cut', (await readFile(file)).subarray(0, 5000), /unexpected end|it is damaged/],
        ['text', Buffer.from('no backup'), /not a backup of Stemma/],
        ['null', gzipSync('null\n'), /not a backup of Stemma/],
        ['number', gzipSync([lines[0], '1', ...lines.slice(1)].join('\n')), /it is damaged/],
        ['headless', gzipSync(lines.slice(1).join('\n')), /its first line is missing/],
        ['twice', gzipSync([lines[0], ...lines].join('\n')), /missing or repeated/],
        ['narrow', gzipSync([...lines.slice(0, 2), '[1]', ...lines.slice(2)].join('\n')), /has 1 values/],
        ['injected', gzipSync([lines[0], '{"table":"a b","columns":[]}'].join('\n')), /it is damaged/],
        ['newer', gzipSync(lines.join('\n').replace('0001-tree', '9999-later')), /newer version/],
      ]
      for (const [name, bytes, message] of broken) {
        const path = join(folder, name)
        await writeFile(path, bytes)
        await withEmptyStore('sqlite', async (targetSettings) => {
          const { code, stderr } = await run('restore', path, ...targetSettings)
          assert.equal(code, 1, name)
          assert.match(stderr, message)
          assert.doesNotMatch(stderr, /\n +at /)
          if (name !== 'short') return
          const migrated = await run('migrate', ...targetSettings)
          assert.equal(migrated.code, 1)
          assert.match(migrated.stderr, /a restore into this store was interrupted/)
        })
      }
    },
  )

  test('needs the secret key of the original store', async () => {
    const file = await backUp('secret')
    await withEmptyStore('sqlite', async (targetSettings) => {
      const without = await runStemmadInline(['restore', file, ...targetSettings])
      assert.equal(without.code, 2)
      assert.match(without.stderr, /put the secret key of the server that made the backup/)
      const wrong = await runStemmadInline([
        'restore',
        file,
        ...targetSettings,
        '--secret-key',
        'x'.repeat(40),
      ])
      assert.equal(wrong.code, 1)
      assert.match(wrong.stderr, /^stemmad: .*cannot be decrypted: STEMMA_SECRET_KEY.*\n$/)
    })
  })

  test('does not follow a symbolic link at a predictable temporary name', async () => {
    const prepared = join(folder, 'prepared')
    await writeFile(prepared, 'untouched')
    await symlink(prepared, join(folder, 'linked.unfinished'))
    await backUp('linked')
    assert.equal(await readFile(prepared, 'utf8'), 'untouched')
  })

  test('never overwrites a file, and needs the name of a file in an existing folder', async () => {
    const file = await backUp('once')
    const { code, stderr } = await run('backup', file, ...settings)
    assert.equal(code, 2)
    assert.match(stderr, /already exists/)
    const nowhere = await run('backup', join(folder, 'no', 'folder'), ...settings)
    assert.equal(nowhere.code, 1)
    assert.match(nowhere.stderr, /no such file/i)
    assert.equal((await run('backup')).code, 2)
  })
})
