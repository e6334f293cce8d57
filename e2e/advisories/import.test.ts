// `stemmad import advisories` from files, folders, archives and pipes.
import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { importAdvisories } from '../../server/commands/import/import-advisories.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { raw, sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { remove, runAndKill, runStemmad, runStemmadInline, temporaryFolder } from '../server/stemmad.ts'
import { zipOf } from './zip.ts'

const { getAdvisory, getAdvisoryOpenVex, getAdvisoryOsv, listAdvisories } = AdvisoriesService.method

type OsvRecord = { [name: string]: unknown; id: string; modified: string; aliases: string[] }

/** An OSV record as package ecosystems publish it. `number` makes its id, alias and package unique. */
const osv = (number: number, otherFields: object = {}): OsvRecord => ({
  schema_version: '1.7.3',
  id: `GHSA-2222-3333-${String(number).padStart(4, '0').replace(/[01]/g, 'c')}${number}`,
  modified: '2026-02-03T04:05:06Z',
  published: '2026-01-02T03:04:05Z',
  aliases: [`CVE-2026-${10_000 + number}`],
  summary: 'Crafted input discloses memory',
  severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N' }],
  affected: [
    {
      package: { ecosystem: 'npm', name: `left-pad-${number}` },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.2.3' }] }],
    },
  ],
  references: [{ type: 'WEB', url: 'https://example.com/advisory' }],
  ...otherFields,
})

onEachStore('an import of advisories', (engine) => {
  let platform: Platform
  let folder: string
  let owner: TestIdentity
  let doors: Door[]
  const warnings: string[] = []
  before(async () => {
    platform = await startPlatform(engine)
    folder = await temporaryFolder()
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
    await remove(folder)
  })

  /** Imports into `group`, or into a new organization if no group is given. */
  async function runImport(path: string, group?: string) {
    if (group === undefined) owner = await platform.addOrganization('acme')
    warnings.length = 0
    return importAdvisories(
      { store: platform.store, now: Date.now },
      group ?? owner.organization,
      path,
      (line) => warnings.push(line),
    )
  }

  /** The flags that make stemmad use the store of the platform. */
  function storeFlags(): string[] {
    const { dataDir, baseUrl, databaseUrl, secretKey } = platform.config
    return [
      ...['--data-dir', dataDir, '--base-url', baseUrl],
      ...(databaseUrl ? ['--database-url', databaseUrl, '--secret-key', secretKey ?? ''] : []),
    ]
  }

  async function put(name: string, content: unknown): Promise<string> {
    const file = join(folder, name)
    await mkdir(join(file, '..'), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
    return file
  }

  async function list(filter: JsonObject = {}): Promise<JsonObject[]> {
    const [door] = doors as [Door]
    const { body, error } = await door.call(
      listAdvisories,
      { orderBy: 'artifact_name', ...filter },
      owner.token,
    )
    assert.ok(body, error?.message)
    return body.advisories as JsonObject[]
  }

  test('creates an advisory for each package, which lists find by its aliases', async () => {
    const record = osv(1, {
      affected: [
        {
          package: { ecosystem: 'npm', name: 'left-pad' },
          ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.2.3' }] }],
        },
        { package: { ecosystem: 'PyPI', name: 'left-pad' }, versions: ['1.0'] },
      ],
    })
    const summary = await runImport(await put('one.json', record))
    assert.deepEqual([summary.records, summary.new, summary.broken], [1, 2, 0])
    const all = await list({ aliases: [record.id] })
    assert.deepEqual(all.map(({ artifactType }) => artifactType).sort(), ['npm', 'pypi'])
    assert.equal(all[0]?.createTime, '2026-01-02T03:04:05.000Z')
    assert.equal(all[0]?.updateTime, '2026-02-03T04:05:06.000Z')
    assert.match(String(all[0]?.advisoryId), /^CGA-/)
    assert.equal((await list({ query: 'cve-2026-10001' })).length, 2)
    assert.equal((await list({ latestEventType: 'EVENT_TYPE_FILTER_FIXED' })).length, 1)
  })

  test('exports the imported record unchanged', async () => {
    const record = osv(2)
    await runImport(await put('two.json', record))
    const [advisory] = await list()
    for (const door of doors) {
      const { body } = await door.call(getAdvisoryOsv, { uid: advisory?.uid as string }, owner.token)
      assert.deepEqual(body, record)
      const vex = await door.call(getAdvisoryOpenVex, { uid: advisory?.uid as string }, owner.token)
      assert.equal(vex.body?.['@context'], 'https://openvex.dev/ns/v0.2.0')
      const { statements = [] } = vex.body ?? {}
      const [statement] = statements as JsonObject[]
      assert.equal(statement?.status, 'fixed')
      const stranger = await platform.addOrganization('other')
      assert.equal(
        (await door.call(getAdvisoryOsv, { uid: advisory?.uid as string }, stranger.token)).error?.code,
        7,
      )
      const missing = { uid: `${owner.organization}/${'0'.repeat(16)}` }
      assert.equal((await door.call(getAdvisoryOpenVex, missing, owner.token)).error?.code, 5)
    }
  })

  test('continues after a broken record and reports its file and its error', async () => {
    await rm(join(folder, 'many'), { recursive: true, force: true })
    await put('many/a.json', osv(3))
    await put('many/b.json', '{"id": "GHSA-1", ')
    await put('many/c.json', { id: 'GHSA-2' })
    await put('many/deep/d.json', osv(4))
    await put('many/e.json', osv(5, { affected: [{ package: { ecosystem: 'npm', name: 7 } }] }))
    await put('many/f.json', osv(6, { affected: [] }))
    await put('many/readme.txt', 'no record')
    const summary = await runImport(join(folder, 'many'))
    assert.deepEqual([summary.records, summary.new, summary.broken, summary.empty], [6, 2, 3, 1])
    assert.match(warnings[0] ?? '', /b\.json: .*JSON.*(?:position|column)/)
    assert.match(warnings[1] ?? '', /c\.json: /)
    assert.match(warnings[2] ?? '', /e\.json: .*affected\[0\]\.package\.name/)
  })

  describe('that runs again', () => {
    test('skips unchanged records and updates changed ones', async () => {
      await rm(join(folder, 'again'), { recursive: true, force: true })
      for (let number = 10; number < 30; number++) await put(`again/${number}.json`, osv(number))
      assert.equal((await runImport(join(folder, 'again'))).new, 20)
      const { organization } = owner
      assert.deepEqual(
        { ...(await runImport(join(folder, 'again'), organization)) },
        { records: 20, empty: 0, broken: 0, new: 0, changed: 0, same: 20, withdrawn: 0 },
      )
      await put('again/11.json', osv(11, { aliases: ['CVE-2026-99999'], modified: '2026-03-01T00:00:00Z' }))
      await put(
        'again/12.json',
        osv(12, { withdrawn: '2026-03-02T00:00:00Z', modified: '2026-03-02T00:00:00Z' }),
      )
      const summary = await runImport(join(folder, 'again'), organization)
      assert.deepEqual([summary.changed, summary.withdrawn, summary.same], [1, 1, 18])
      const [changed] = await list({ aliases: ['CVE-2026-99999'] })
      assert.equal(changed?.artifactName, 'left-pad-11')
      assert.equal(changed?.updateTime, '2026-03-01T00:00:00.000Z')
      assert.equal((await list({ aliases: ['CVE-2026-10011'] })).length, 0)
      assert.equal((await list({ artifactNames: ['left-pad-12'] })).length, 0)
      assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
    })

    test('keeps events that people have added', async () => {
      const file = await put('kept.json', osv(40))
      await runImport(file)
      const [before] = await list()
      const added = await fetch(`${platform.url}/vulnerabilities/v1/advisories/${before?.uid}/events`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          advisoryEvent: {
            author: 'ada',
            falsePositiveDetermination: { note: 'not here' },
            status: 'APPROVED',
          },
        }),
      })
      assert.equal(added.status, 200, await added.clone().text())
      await put('kept.json', osv(40, { summary: 'It was worse', modified: '2026-04-01T00:00:00Z' }))
      assert.equal((await runImport(file, owner.organization)).changed, 1)
      const [later] = await list()
      assert.equal(later?.uid, before?.uid)
      const { events = [] } = (later ?? {}) as { events?: { author: string }[] }
      assert.ok(events.some(({ author }) => author === 'ada'))
      assert.equal(
        (await list({ latestEventType: 'EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION' })).length,
        1,
      )
    })
  })

  test('reads security databases and OpenVEX documents', async () => {
    const secdb = {
      ...{ apkurl: '{{urlprefix}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk', archs: ['x86_64'], reponame: 'os' },
      urlprefix: 'https://packages.example.com',
      packages: [
        {
          pkg: {
            name: 'nginx',
            secfixes: { '1.27.1-r0': ['CVE-2026-1', 'CVE-2026-2'], '0': ['CVE-2026-3'] },
          },
        },
      ],
    }
    assert.equal((await runImport(await put('secdb.json', secdb))).new, 3)
    assert.equal(
      (await list({ artifactNames: ['nginx'], eventTypes: ['EVENT_TYPE_FILTER_FIXED'] })).length,
      2,
    )
    const vex = {
      '@context': 'https://openvex.dev/ns/v0.2.0',
      '@id': 'https://example.com/vex/1',
      author: 'Example',
      timestamp: '2026-01-01T00:00:00Z',
      version: 1,
      statements: [
        {
          vulnerability: { name: 'CVE-2026-77' },
          products: [{ '@id': 'pkg:npm/left-pad@1.0.0' }],
          status: 'not_affected',
          justification: 'vulnerable_code_not_present',
        },
      ],
    }
    assert.equal((await runImport(await put('vex.json', vex))).new, 1)
    const [advisory] = await list({ latestEventType: 'EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION' })
    assert.equal(advisory?.artifactName, 'left-pad')
  })

  test('reads archives, JSON lines and standard input', async () => {
    const archive = join(folder, 'all.zip')
    const files = {
      'a.json': JSON.stringify(osv(60)),
      'b/c.json': JSON.stringify(osv(61)),
      'd.txt': 'no record',
    }
    await writeFile(archive, zipOf({ ...files, 'broken.json': '{' }))
    const summary = await runImport(archive)
    assert.deepEqual([summary.new, summary.broken], [2, 1])
    assert.match(warnings[0] ?? '', /all\.zip:broken\.json: /)
    await writeFile(archive, zipOf(files, false))
    assert.equal((await runImport(archive, owner.organization)).same, 2)
    const lines = [osv(62), osv(63), '', osv(64)]
      .map((line) => (line === '' ? '' : JSON.stringify(line)))
      .join('\n')
    assert.equal((await runImport(await put('all.ndjson', lines))).new, 3)
    for (const [piped, count] of [
      [lines, 3],
      [JSON.stringify(osv(65), undefined, 2), 1],
      [JSON.stringify(osv(66)), 1],
    ] as const) {
      const { organization } = await platform.addOrganization('acme')
      const args = ['import', 'advisories', '--group', organization, '-', ...storeFlags()]
      const { code, stdout, stderr } = await runStemmad(folder, args, undefined, piped)
      assert.equal(code, 0, stderr)
      assert.match(
        stdout,
        new RegExp(`^${count} ${count === 1 ? 'record' : 'records'}: advisories ${count} new`),
      )
    }
    await assert.rejects(runImport(await put('no.zip', 'no archive')), /no\.zip/)
    await assert.rejects(runImport(join(folder, 'nowhere.json')), /nowhere/)
  })

  test('keeps the CGA id of a record, and assigns another id if that one is taken', async () => {
    const record = osv(80, { id: 'CGA-2222-3333-4444' })
    const file = await put('named.json', record)
    assert.equal((await runImport(file)).new, 1)
    assert.deepEqual(
      (await list()).map(({ advisoryId }) => advisoryId),
      ['CGA-2222-3333-4444'],
    )
    // Ids are unique on the server, so the id is taken when the file is imported into another organization.
    assert.equal((await runImport(file)).new, 1)
    const [advisory] = await list({ aliases: ['CGA-2222-3333-4444'] })
    assert.match(String(advisory?.advisoryId), /^CGA-/)
    assert.notEqual(advisory?.advisoryId, 'CGA-2222-3333-4444')
    assert.equal((await runImport(file, owner.organization)).same, 1)
  })

  test('explains wrong arguments', async () => {
    const { organization } = await platform.addOrganization('acme')
    for (const [args, message] of [
      [['import', 'advisories', folder], /Usage/],
      [['import', 'repos', '--group', organization, folder], /Usage/],
      [['import', 'advisories', '--group', 'acme', folder], /must be the uid of a group/],
    ] as const) {
      const { code, stderr } = await runStemmadInline([...args, ...storeFlags()])
      assert.equal(code, 2)
      assert.match(stderr, message)
    }
  })

  test('creates advisories that other organizations cannot read', async () => {
    const [door] = doors as [Door]
    await runImport(await put('access.json', osv(50)))
    const [advisory] = await list()
    const { error } = await door.call(
      getAdvisory,
      { uid: advisory?.uid as string },
      (await platform.addOrganization('x')).token,
    )
    assert.equal(error?.code, 7)
  })

  const snapshot = async (organization: string) => {
    const rows = await platform.store.query(
      sql`select uid, advisory_id, artifact_name, terms, update_time from advisories
        where root = ${organization} order by uid`,
    )
    return rows.map((row) => row.join(' '))
  }

  test('that was killed and run again leaves the same store as an uninterrupted one', async () => {
    const source = join(folder, 'killed')
    await rm(source, { recursive: true, force: true })
    for (let number = 0; number < 3000; number++) await put(`killed/${number}.json`, osv(number + 100))
    const { organization } = await platform.addOrganization('acme')
    const args = ['import', 'advisories', '--group', organization, source, ...storeFlags()]
    await runAndKill(folder, args, async () => (await snapshot(organization)).length > 0)
    const again = await runStemmad(folder, args)
    assert.equal(again.code, 0, again.stderr)
    assert.match(again.stdout, /^3,000 records: /)
    const resumed = await snapshot(organization)
    assert.equal(resumed.length, 3000)
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
    await platform.store.write(function* () {
      yield sql`delete from advisories where root = ${organization}`
      yield sql`delete from tally where kind = 'advisories'`
      for (const table of ['advisory_sources', 'advisory_postings']) yield sql`delete from ${raw(table)}`
    })
    await runImport(source, organization)
    assert.deepEqual(await snapshot(organization), resumed)
  })
})
