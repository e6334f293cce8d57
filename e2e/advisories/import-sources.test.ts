// `stemmad import advisories` from files, folders, archives and pipes, in each format. On SQLite only, since reading
// does not depend on the store.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runStemmad, runStemmadInline } from '../server/stemmad.ts'
import type { ImportPlatform } from './import-platform.ts'
import { osv, startImportPlatform } from './import-platform.ts'
import { zipOf } from './zip.ts'

describe('an import of advisories', () => {
  let setUp: ImportPlatform
  before(async () => {
    setUp = await startImportPlatform('sqlite')
  })
  after(() => setUp.stop())

  const addOwner = () => setUp.platform.addOrganization('acme')

  test('continues after a broken record and reports its file and its error', async () => {
    const { folder, put, runImport } = setUp
    await put('many/a.json', osv(3))
    await put('many/b.json', '{"id": "GHSA-1", ')
    await put('many/c.json', { id: 'GHSA-2' })
    await put('many/deep/d.json', osv(4))
    await put('many/e.json', osv(5, { affected: [{ package: { ecosystem: 'npm', name: 7 } }] }))
    await put('many/f.json', osv(6, { affected: [] }))
    await put(
      'many/g.json',
      JSON.stringify(osv(7)).replace(/}$/, `,"a":${'['.repeat(9e4)}${']'.repeat(9e4)}}`),
    )
    await put('many/readme.txt', 'no record')
    const { warnings, ...summary } = await runImport(join(folder, 'many'), await addOwner())
    assert.deepEqual([summary.records, summary.new, summary.broken, summary.empty], [7, 2, 4, 1])
    assert.match(warnings[0] ?? '', /b\.json: .*JSON.*(?:position|column)/)
    assert.match(warnings[1] ?? '', /c\.json: /)
    assert.match(warnings[2] ?? '', /e\.json: .*affected\[0\]\.package\.name/)
    assert.match(warnings[3] ?? '', /g\.json: .*at most 30 levels/)
  })

  test('reads security databases and OpenVEX documents', async () => {
    const { put, runImport, list } = setUp
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
    const owner = await addOwner()
    assert.equal((await runImport(await put('secdb.json', secdb), owner)).new, 3)
    const fixed = { artifactNames: ['nginx'], eventTypes: ['EVENT_TYPE_FILTER_FIXED'] }
    assert.equal((await list(owner, fixed)).length, 2)
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
    const other = await addOwner()
    assert.equal((await runImport(await put('vex.json', vex), other)).new, 1)
    const falsePositives = { latestEventType: 'EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION' }
    const [advisory] = await list(other, falsePositives)
    assert.equal(advisory?.artifactName, 'left-pad')
  })

  test('reads archives', async () => {
    const { folder, put, runImport } = setUp
    const archive = join(folder, 'all.zip')
    const files = {
      'a.json': JSON.stringify(osv(60)),
      'b/c.json': JSON.stringify(osv(61)),
      'd.txt': 'no record',
    }
    const owner = await addOwner()
    await writeFile(archive, zipOf({ ...files, 'broken.json': '{' }))
    const summary = await runImport(archive, owner)
    assert.deepEqual([summary.new, summary.broken], [2, 1])
    assert.match(summary.warnings[0] ?? '', /all\.zip:broken\.json: /)
    await writeFile(archive, zipOf(files, false))
    assert.equal((await runImport(archive, owner)).same, 2)
    await assert.rejects(runImport(await put('no.zip', 'no archive'), owner), /no\.zip/)
    await assert.rejects(runImport(join(folder, 'nowhere.json'), owner), /nowhere/)
  })

  test('reads JSON lines, from a file and from standard input', async () => {
    const { folder, storeFlags, put, runImport } = setUp
    const lines = [osv(62), osv(63), '', osv(64)]
      .map((line) => (line === '' ? '' : JSON.stringify(line)))
      .join('\n')
    assert.equal((await runImport(await put('all.ndjson', lines), await addOwner())).new, 3)
    const { organization } = await addOwner()
    const args = ['import', 'advisories', '--group', organization, '-', ...storeFlags]
    const { code, stdout, stderr } = await runStemmad(folder, args, undefined, lines)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^3 records: advisories 3 new/)
  })

  test('explains wrong arguments', async () => {
    const { folder, storeFlags } = setUp
    const { organization } = await addOwner()
    for (const [args, message] of [
      [['import', 'advisories', folder], /Usage/],
      [['import', 'repos', '--group', organization, folder], /Usage/],
      [['import', 'advisories', '--group', 'acme', folder], /must be the uid of a group/],
    ] as const) {
      const { code, stderr } = await runStemmadInline([...args, ...storeFlags])
      assert.equal(code, 2)
      assert.match(stderr, message)
    }
  })
})
