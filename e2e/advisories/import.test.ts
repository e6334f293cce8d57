// `stemmad import advisories`: what it writes to the store. import-sources.test.ts tests what it reads.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { operatorAccessFor } from '../../server/policy/system-access.ts'
import { importBatch } from '../../server/resources/vulnerabilities/advisories/import-batch.ts'
import { importRowsOf } from '../../server/resources/vulnerabilities/advisories/import-rows.ts'
import { withdrawAdvisory } from '../../server/resources/vulnerabilities/advisories/write.ts'
import { readOsv } from '../../server/resources/vulnerabilities/formats/read-osv.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { raw, sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { runAndKill, runStemmadInline } from '../server/stemmad.ts'
import type { ImportPlatform } from './import-platform.ts'
import { osv, startImportPlatform } from './import-platform.ts'

const { getAdvisory, getAdvisoryOpenVex, getAdvisoryOsv } = AdvisoriesService.method

onEachStore('an import of advisories', (engine) => {
  let setUp: ImportPlatform
  before(async () => {
    setUp = await startImportPlatform(engine)
  })
  after(() => setUp.stop())

  const addOwner = () => setUp.platform.addOrganization('acme')

  describe('of new records', () => {
    const twoPackages = osv(1, {
      affected: [
        {
          package: { ecosystem: 'npm', name: 'left-pad' },
          ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.2.3' }] }],
        },
        { package: { ecosystem: 'PyPI', name: 'left-pad' }, versions: ['1.0'] },
      ],
    })
    const onePackage = osv(2)
    let owner: TestIdentity
    let doors: Door[]
    before(async () => {
      const { platform, put, runImport, folder } = setUp
      doors = [restDoor(platform.url), grpcDoor(platform.url)]
      owner = await addOwner()
      await put('new/1.json', twoPackages)
      await put('new/2.json', onePackage)
      const summary = await runImport(join(folder, 'new'), owner)
      assert.deepEqual([summary.records, summary.new, summary.broken], [2, 3, 0])
    })
    after(() => {
      for (const door of doors) door.close()
    })

    test('creates an advisory for each package, which can be found by its aliases', async () => {
      const all = await setUp.list(owner, { aliases: [twoPackages.id] })
      assert.deepEqual(all.map(({ artifactType }) => artifactType).sort(), ['npm', 'pypi'])
      assert.equal(all[0]?.createTime, '2026-01-02T03:04:05.000Z')
      assert.equal(all[0]?.updateTime, '2026-02-03T04:05:06.000Z')
      assert.match(String(all[0]?.advisoryId), /^CGA-/)
      assert.equal((await setUp.list(owner, { query: 'cve-2026-10001' })).length, 2)
      const fixed = { artifactNames: ['left-pad'], latestEventType: 'EVENT_TYPE_FILTER_FIXED' }
      assert.equal((await setUp.list(owner, fixed)).length, 1)
    })

    test('creates advisories from which the record can be exported unchanged', async () => {
      const [advisory] = await setUp.list(owner, { aliases: [onePackage.id] })
      const uid = advisory?.uid as string
      for (const door of doors) {
        const { body } = await door.call(getAdvisoryOsv, { uid }, owner.token)
        assert.deepEqual(body, onePackage)
        const vex = await door.call(getAdvisoryOpenVex, { uid }, owner.token)
        assert.equal(vex.body?.['@context'], 'https://openvex.dev/ns/v0.2.0')
        const { statements = [] } = vex.body ?? {}
        const [statement] = statements as JsonObject[]
        assert.equal(statement?.status, 'fixed')
        const missing = { uid: `${owner.organization}/${'0'.repeat(16)}` }
        assert.equal((await door.call(getAdvisoryOpenVex, missing, owner.token)).error?.code, 5)
      }
    })

    test('creates advisories that other organizations can neither read nor export', async () => {
      const [advisory] = await setUp.list(owner)
      const stranger = await setUp.platform.addOrganization('other')
      for (const door of doors)
        for (const method of [getAdvisory, getAdvisoryOsv]) {
          const { error } = await door.call(method, { uid: advisory?.uid as string }, stranger.token)
          assert.equal(error?.code, 7)
        }
    })
  })

  describe('that runs again', () => {
    test('skips unchanged records and updates changed ones', async () => {
      const { platform, folder, put, runImport, list } = setUp
      const owner = await addOwner()
      for (let number = 10; number < 30; number++) await put(`again/${number}.json`, osv(number))
      assert.equal((await runImport(join(folder, 'again'), owner)).new, 20)
      assert.deepEqual(await runImport(join(folder, 'again'), owner), {
        ...{ records: 20, empty: 0, broken: 0, new: 0, changed: 0, same: 20, withdrawn: 0 },
        warnings: [],
      })
      await put('again/11.json', osv(11, { aliases: ['CVE-2026-99999'], modified: '2026-03-01T00:00:00Z' }))
      await put(
        'again/12.json',
        osv(12, { withdrawn: '2026-03-02T00:00:00Z', modified: '2026-03-02T00:00:00Z' }),
      )
      const summary = await runImport(join(folder, 'again'), owner)
      assert.deepEqual([summary.changed, summary.withdrawn, summary.same], [1, 1, 18])
      const [changed] = await list(owner, { aliases: ['CVE-2026-99999'] })
      assert.equal(changed?.artifactName, 'left-pad-11')
      assert.equal(changed?.updateTime, '2026-03-01T00:00:00.000Z')
      assert.equal((await list(owner, { aliases: ['CVE-2026-10011'] })).length, 0)
      assert.equal((await list(owner, { artifactNames: ['left-pad-12'] })).length, 0)
      assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
    })

    test('keeps events that people have added', async () => {
      const { platform, put, runImport, list } = setUp
      const owner = await addOwner()
      const file = await put('kept.json', osv(40))
      await runImport(file, owner)
      const [before] = await list(owner)
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
      assert.equal((await runImport(file, owner)).changed, 1)
      const [later] = await list(owner)
      assert.equal(later?.uid, before?.uid)
      const { events = [] } = (later ?? {}) as { events?: { author: string }[] }
      assert.ok(events.some(({ author }) => author === 'ada'))
      const falsePositives = { latestEventType: 'EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION' }
      assert.equal((await list(owner, falsePositives)).length, 1)
    })
  })

  test('replaces the events of a record whose author has changed', async () => {
    const { put, runImport, list } = setUp
    const owner = await addOwner()
    const vex = (author: string) => ({
      ...{ '@context': 'https://openvex.dev/ns/v0.2.0', '@id': 'https://example.com/vex/author' },
      ...{ author, timestamp: '2026-01-01T00:00:00Z', version: 1 },
      statements: [
        {
          vulnerability: { name: 'CVE-2026-78' },
          products: [{ '@id': 'pkg:npm/left-pad@1.0.0' }],
          status: 'under_investigation',
        },
      ],
    })
    for (const author of ['first', 'second', 'third']) {
      await runImport(await put('author.json', vex(author)), owner)
      const [advisory] = await list(owner)
      const { events } = advisory as { events: { author: string }[] }
      assert.deepEqual(
        events.map((event) => event.author),
        [author],
      )
    }
  })

  test('changes the type of the artifact if the record has another one', async () => {
    const { put, runImport, list } = setUp
    const owner = await addOwner()
    const secdb = (urlprefix: string) => ({
      ...{ urlprefix, reponame: 'main' },
      packages: [{ pkg: { name: 'nginx', secfixes: { '1.27.1-r0': ['CVE-2026-1'] } } }],
    })
    for (const [urlprefix, type] of [
      ['https://packages.example.com', 'apk'],
      ['https://dl-cdn.alpinelinux.org/alpine', 'alpine'],
    ] as const) {
      await runImport(await put('moved.json', secdb(urlprefix)), owner)
      const found = await list(owner, { artifactTypes: [type] })
      assert.deepEqual([found.length, found[0]?.artifactType], [1, type])
    }
  })

  test('skips a record whose advisory is withdrawn while it is imported', async () => {
    const { platform, runImport, put, list } = setUp
    const owner = await addOwner()
    await runImport(await put('withdrawn.json', osv(90)), owner)
    const [advisory] = await list(owner)
    const changed = osv(90, { summary: 'changed', modified: '2026-03-01T00:00:00Z' })
    const items = readOsv(changed).map((item) => importRowsOf(owner.organization, { ...item, format: 'osv' }))
    const access = operatorAccessFor('test')
    const { outcomes, broken } = await platform.store.write(function* () {
      const work = importBatch(access, owner.organization, items, 1)
      const first = work.next()
      assert.ok(!first.done)
      const rows = yield first.value // the records that were imported before
      const context = { access, now: Date.now, random: randomBytes }
      yield* withdrawAdvisory(context, String(advisory?.uid))
      let step = work.next(rows)
      while (!step.done) step = work.next(yield step.value)
      return step.value
    })
    assert.deepEqual([outcomes, broken], [['same'], []])
  })

  test('reports records whose source is too long or contains NUL, and imports the others', async () => {
    const { folder, put, runImport } = setUp
    const packages = [{ pkg: { name: 'nginx', secfixes: { '1.27.1-r0': ['CVE-2026-1'] } } }]
    // Three bytes per character. They vary, because PostgreSQL compresses values that repeat.
    const reponame = Array.from({ length: 1000 }, (_, at) =>
      String.fromCodePoint(0x4e00 + ((at * at * 7919) % 20_000)),
    ).join('')
    await put('long/a.json', { reponame, packages })
    await put('long/b.json', { reponame: 'os\0', packages })
    await put('long/c.json', { reponame: 'os', packages })
    const summary = await runImport(join(folder, 'long'), await addOwner())
    assert.deepEqual([summary.new, summary.broken], [1, 2])
    assert.match(summary.warnings[0] ?? '', /a\.json: .*source: must be at most 2500 bytes/)
    assert.match(summary.warnings[1] ?? '', /b\.json: .*must not contain line breaks or control characters/)
  })

  test('keeps the CGA id of a record, and assigns another id if that one is taken', async () => {
    const { put, runImport, list } = setUp
    const file = await put('named.json', osv(80, { id: 'CGA-2222-3333-4444' }))
    const first = await addOwner()
    assert.equal((await runImport(file, first)).new, 1)
    assert.deepEqual(
      (await list(first)).map(({ advisoryId }) => advisoryId),
      ['CGA-2222-3333-4444'],
    )
    // Ids are unique on the server, so the id is taken when the file is imported into another organization.
    const second = await addOwner()
    assert.equal((await runImport(file, second)).new, 1)
    const [advisory] = await list(second, { aliases: ['CGA-2222-3333-4444'] })
    assert.match(String(advisory?.advisoryId), /^CGA-/)
    assert.notEqual(advisory?.advisoryId, 'CGA-2222-3333-4444')
    assert.equal((await runImport(file, second)).same, 1)
  })

  test('keeps the taken CGA id of a record as an alias when the record changes', async () => {
    const { put, runImport, list } = setUp
    const id = 'CGA-2222-3333-5555'
    const file = await put('renamed.json', osv(81, { id }))
    await runImport(file, await addOwner())
    const owner = await addOwner()
    await runImport(file, owner)
    await put('renamed.json', osv(81, { id, aliases: ['CVE-2026-81'], modified: '2026-03-01T00:00:00Z' }))
    assert.equal((await runImport(file, owner)).changed, 1)
    const [advisory] = await list(owner)
    assert.deepEqual(advisory?.aliases, [id, 'CVE-2026-81'])
  })

  test('skips and reports records that a taken CGA id makes invalid, and imports the others', async () => {
    const { folder, put, runImport, list } = setUp
    // The id that is taken becomes an alias, and an advisory has at most 200 aliases.
    const named = (letter: string, aliases: number, modified = '2026-02-03T04:05:06Z') =>
      osv(82, {
        id: `CGA-2222-3333-666${letter}`,
        aliases: Array.from({ length: aliases }, (_, at) => `CVE-2026-${10_000 + at}`),
        modified,
      })
    await put('full/a.json', named('f', 200))
    await put('full/b.json', named('g', 199))
    assert.equal((await runImport(join(folder, 'full'), await addOwner())).new, 2)
    const owner = await addOwner()
    const first = await runImport(join(folder, 'full'), owner)
    assert.deepEqual([first.new, first.broken], [1, 1])
    assert.match(first.warnings[0] ?? '', /CGA-2222-3333-666f.*aliases/)
    await put('full/b.json', named('g', 200, '2026-03-01T00:00:00Z'))
    await put('full/c.json', osv(83))
    for (const expected of [
      { new: 1, same: 0, changed: 0, broken: 2 },
      { new: 0, same: 1, changed: 0, broken: 2 },
    ]) {
      const { warnings, records, empty, withdrawn, ...counts } = await runImport(join(folder, 'full'), owner)
      assert.deepEqual(counts, expected)
      assert.match(warnings.join('\n'), /CGA-2222-3333-666g.*aliases/)
    }
    const [kept] = await list(owner, { aliases: ['CGA-2222-3333-666g'] })
    assert.equal((kept?.aliases as string[]).length, 200)
    await put('full/b.json', named('g', 1, '2026-04-01T00:00:00Z'))
    const last = await runImport(join(folder, 'full'), owner)
    assert.deepEqual([last.changed, last.broken], [1, 1])
  })

  test('that was killed and run again leaves the same store as an uninterrupted one', async () => {
    const { platform, folder, storeFlags, put, runImport } = setUp
    const snapshot = async (organization: string) => {
      const rows = await platform.store.query(
        sql`select uid, advisory_id, artifact_name, terms, update_time from advisories
          where root = ${organization} order by uid`,
      )
      return rows.map((row) => row.join(' '))
    }
    const owner = await addOwner()
    const { organization } = owner
    // A repeated record ends a batch, so each of these batches is written in its own transaction. The first has more
    // records than the import looks up in one SQL statement (512). When it is written, the import is killed.
    const batches = [520, 30, 30, 30, 30].map((length, batch) =>
      Array.from({ length }, (_, at) => osv(1000 * (batch + 1) + at)),
    )
    const records = batches.flatMap((batch) => [...batch, ...batch.slice(-1)])
    const source = await put('killed.ndjson', records.map((record) => JSON.stringify(record)).join('\n'))
    const args = ['import', 'advisories', '--group', organization, source, ...storeFlags]
    await runAndKill(folder, args, async () => {
      const rows = await platform.store.query(
        sql`select 1 from advisories where root = ${organization} limit 1`,
      )
      return rows.length > 0
    })
    const again = await runStemmadInline(args)
    assert.equal(again.code, 0, again.stderr)
    assert.match(again.stdout, /^645 records: /)
    const resumed = await snapshot(organization)
    assert.equal(resumed.length, 640)
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
    await platform.store.write(function* () {
      yield sql`delete from advisories where root = ${organization}`
      yield sql`delete from tally where kind = 'advisories'`
      for (const table of ['advisory_sources', 'advisory_postings']) yield sql`delete from ${raw(table)}`
    })
    await runImport(source, owner)
    assert.deepEqual(await snapshot(organization), resumed)
  })
})
