// `stemmad import versions`, and the calls that return what it has imported.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { importVersions } from '../../server/commands/import/import-versions.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make } from '../contract/examples.ts'
import { dataDirFlags, remove, runStemmadInline, temporaryFolder } from '../server/stemmad.ts'

const { getPackageVersionMetadata, listEolTags, updateRegistrySettings } = Registry.method
const now = Date.parse('2026-02-01T00:00:00Z')
const digest = `sha256:${'a'.repeat(64)}`

async function importRecords({ platform }: ExampleContext, records: unknown[]) {
  const folder = await temporaryFolder()
  try {
    const path = join(folder, 'versions.ndjson')
    await writeFile(path, records.map((record) => JSON.stringify(record)).join('\n'))
    const lines: string[] = []
    const summary = await importVersions({ store: platform.store, now: () => now }, path, (line) => {
      lines.push(line)
    })
    return { ...summary, lines }
  } finally {
    await remove(folder)
  }
}

const python = {
  ...{ package: 'python', gracePeriodMonths: 6 },
  versions: [
    { version: '3.14', releaseDate: '2025-10-07', eolDate: '2030-10-31', latestVersion: '3.14.2' },
    { version: '3.13', releaseDate: '2024-10-07', eolDate: '2029-10-31', fips: true },
    { version: '3.9', releaseDate: '2020-10-05', eolDate: '2025-10-31' },
    { version: '3.8', releaseDate: '2019-10-14', eolDate: '2024-10-07', exists: false },
    { version: '3.10', releaseDate: '2021-10-04', eolDate: '2026-01-01', eolBroken: true },
  ],
}

const versionsIn = (list: unknown) => (list as JsonObject[]).map(({ version }) => version)

async function makeRepo(stage: ExampleContext, name: string, tags: string[], syncConfig?: JsonObject) {
  const repo = { name, ...(syncConfig && { sync_config: syncConfig }) }
  const parent = await make(stage, ReposService.method.createRepo, { parent: stage.owner.organization, repo })
  for (const tag of tags)
    await make(stage, TagsService.method.createTag, { parent, tag: { name: tag, digest } })
  return parent
}

/** The items of all pages of the list. */
async function listAll({ succeed }: ExampleContext, filter: JsonObject) {
  const items: JsonObject[] = []
  for (let pageToken = ''; ; ) {
    const page = await succeed(listEolTags, { pageSize: 2, pageToken, ...filter })
    items.push(...(page.items as JsonObject[]))
    pageToken = page.nextPageToken as string
    if (pageToken === '') return items
  }
}

/** An item as name, package, version, status and grace. */
const summaryOf = ({ name, mainPackageName, mainPackageVersion, tagStatus, graceStatus }: JsonObject) =>
  [name, mainPackageName, (mainPackageVersion as JsonObject).version, tagStatus, graceStatus].join(' ')

examples(
  'versions of packages',
  {
    async 'are unknown until the operator imports them, and the error says how'(stage) {
      const { fail, succeed, owner } = stage
      const error = await fail(getPackageVersionMetadata, { package: 'unheard-of' })
      assert.equal(error.code, 5)
      assert.match(error.message, /"unheard-of".*stemmad import versions/)
      await makeRepo(stage, 'unheard-of', ['1.0'])
      const uidp = { descendantsOf: owner.organization }
      assert.deepEqual((await succeed(listEolTags, { uidp })).items, [])
    },

    async 'are divided by their ends of life, in the order of the import'(stage) {
      const { succeed } = stage
      await importRecords(stage, [python])
      const metadata = await succeed(getPackageVersionMetadata, { package: 'python' })
      assert.deepEqual(versionsIn(metadata.versions), ['3.14', '3.13'])
      assert.deepEqual(versionsIn(metadata.eolVersions), ['3.9', '3.8', '3.10'])
      assert.deepEqual(
        [metadata.latestVersion, metadata.gracePeriodMonths, metadata.lastUpdatedTimestamp],
        ['3.14.2', 6, '2026-02-01T00:00:00.000Z'],
      )
      assert.deepEqual((metadata.eolVersions as JsonObject[])[1], {
        ...{ version: '3.8', releaseDate: '2019-10-14', eolDate: '2024-10-07', latestVersion: '' },
        ...{ exists: false, fips: false, lts: false, legacyLts: '', eolBroken: false },
      })
    },

    async 'can be read with the capability in any group, and not without'({
      succeed,
      fail,
      platform,
      owner,
    }) {
      const reader = await platform.addIdentityWith(owner.organization, ['CAP_VERSION_LIST'])
      await succeed(getPackageVersionMetadata, { package: 'python' }, reader.token)
      const stranger = await platform.addIdentity('')
      for (const name of ['python', 'unheard-of'])
        assert.equal((await fail(getPackageVersionMetadata, { package: name }, stranger.token)).code, 7)
    },

    async 'are replaced by the next import, and removed by a record without versions'(stage) {
      const { succeed, fail } = stage
      const record = { package: 'node', versions: [{ version: '24' }] }
      const counts = async (records: unknown[]) => {
        const { lines, ...summary } = await importRecords(stage, records)
        assert.deepEqual(lines, [])
        return Object.entries(summary)
          .filter(([, count]) => count > 0)
          .join()
      }
      assert.equal(await counts([record]), 'new,1')
      assert.equal(await counts([record, record]), 'same,2')
      assert.equal(
        await counts([{ ...record, versions: [{ version: '26' }, { version: '24' }] }]),
        'changed,1',
      )
      const { versions } = await succeed(getPackageVersionMetadata, { package: record.package })
      assert.deepEqual(versionsIn(versions), ['26', '24'])
      assert.equal(await counts([{ ...record, versions: [] }]), 'removed,1')
      assert.equal((await fail(getPackageVersionMetadata, { package: record.package })).code, 5)
    },

    async 'are imported also if other records are broken, which are named by line and field'(stage) {
      const good = { package: 'good', versions: [{ version: '1' }] }
      const bad = { package: 'bad', versions: [{ version: '1', eolDate: 'soon' }] }
      const { broken, lines } = await importRecords(stage, [bad, good, { package: 'worse' }])
      assert.equal(broken, 2)
      assert.match(lines[0] ?? '', /versions\.ndjson, line 1: versions\[0\]\.eolDate must be a date .*"soon"/)
      assert.match(lines[1] ?? '', /versions\.ndjson, line 3: versions must be a list/)
      await stage.succeed(getPackageVersionMetadata, { package: 'good' })
    },
  },
  () => now,
)

examples(
  'ends of life of tags',
  {
    async 'are known for tags whose repo and name fit a package and a version'(stage) {
      await importRecords(stage, [python])
      const repo = await makeRepo(stage, 'tools/python', [
        '3.13.1',
        '3.9',
        '3.8-dev',
        '3.10',
        'latest',
        '2.7',
      ])
      const other = await makeRepo(stage, 'perl', ['3.9'])
      const listed = async (uid: string) =>
        (await listAll(stage, { uidp: { childrenOf: uid } })).map(summaryOf).sort()
      assert.deepEqual(await listed(repo), [
        '3.10 python 3.10 TAG_INACTIVE GRACE_BROKEN',
        '3.13.1 python 3.13 TAG_ACTIVE GRACE_NOT_ELIGIBLE',
        '3.8-dev python 3.8 TAG_INACTIVE GRACE_EXPIRED',
        '3.9 python 3.9 TAG_INACTIVE GRACE_ELIGIBLE',
      ])
      assert.deepEqual(await listed(other), [])
    },

    async 'have a grace period if the sync configuration enables it; without a configuration, the organization decides'(
      stage,
    ) {
      const { succeed, owner } = stage
      await importRecords(stage, [python])
      const syncConfig = { source: 'quay.io/acme/python' }
      const setDefault = (eolGracePeriod: boolean) =>
        succeed(updateRegistrySettings, { registryId: owner.organization, eolGracePeriod })
      // A new sync configuration gets the setting that the organization has at that time.
      const disabled = await makeRepo(stage, 'disabled/python', ['3.9'], syncConfig)
      await setDefault(true)
      const enabled = await makeRepo(stage, 'enabled/python', ['3.9'], syncConfig)
      const without = await makeRepo(stage, 'without/python', ['3.9'])
      const statuses = async () => {
        const tagIn = async (uid: string) => {
          const [tag] = await listAll(stage, { uidp: { childrenOf: uid } })
          return `${tag?.graceStatus} ${tag?.tagStatus} ${tag?.gracePeriodExpiryDate}`
        }
        return {
          ...{
            disabled: await tagIn(disabled),
            enabled: await tagIn(enabled),
            without: await tagIn(without),
          },
        }
      }
      const on = 'GRACE_ACTIVE TAG_IN_GRACE 2026-05-01T00:00:00.000Z'
      const off = 'GRACE_ELIGIBLE TAG_INACTIVE 2026-05-01T00:00:00.000Z'
      assert.deepEqual(await statuses(), { disabled: off, enabled: on, without: on })
      await setDefault(false)
      assert.deepEqual(await statuses(), { disabled: off, enabled: on, without: off })
    },

    async 'are listed only for tags that the caller may list, and not for date and epoch tags if these are excluded'(
      stage,
    ) {
      const { platform, succeed } = stage
      await importRecords(stage, [python])
      const uid = await makeRepo(stage, 'python-fips', ['3.9', '3.9-20251001', '3.9.2-r4', 'sha256-3.9'])
      const names = async (filter: JsonObject) =>
        (await listAll(stage, { uidp: { childrenOf: uid }, ...filter })).map(({ name }) => name).sort()
      assert.deepEqual(await names({}), ['3.9', '3.9-20251001', '3.9.2-r4'])
      assert.deepEqual(await names({ excludeDates: true }), ['3.9', '3.9.2-r4'])
      assert.deepEqual(await names({ excludeDates: true, excludeEpochs: true }), ['3.9'])
      assert.deepEqual(await names({ name: '3.9.2-r4', excludeEpochs: true }), ['3.9.2-r4'])
      const stranger = await platform.addIdentity('')
      assert.deepEqual(await succeed(listEolTags, {}, stranger.token), { items: [], nextPageToken: '' })
    },
  },
  () => now,
)

describe('stemmad import versions', () => {
  let folder = ''
  before(async () => {
    folder = await temporaryFolder()
  })
  after(() => remove(folder))

  const run = (...args: string[]) => runStemmadInline(['import', ...args, ...dataDirFlags(folder)])

  test('prints how many packages it has changed, and returns 1 if a record is broken', async () => {
    const file = join(folder, 'python.json')
    await writeFile(file, JSON.stringify(python))
    const { code, stdout, stderr } = await run('versions', file)
    assert.deepEqual(
      [code, stdout],
      [0, 'Packages: 1 new, 0 changed, 0 the same, 0 removed, 0 broken.\n'],
      stderr,
    )
    await writeFile(file, '{"package": "python", "versions": {}}')
    const broken = await run('versions', file)
    assert.equal(broken.code, 1)
    assert.match(broken.stdout, /1 broken\.$/m)
    assert.equal(broken.stderr, `${file}: versions must be a list, but is {}\n`)
  })

  test('explains its use if the arguments are wrong', async () => {
    for (const args of [
      ['versions'],
      ['versions', 'a', 'b'],
      ['versions', '--group', 'x', 'a'],
      ['tags', 'a'],
    ]) {
      const { code, stderr } = await run(...args)
      assert.equal(code, 2)
      assert.match(stderr, /^Usage: stemmad import advisories\|versions/)
    }
  })
})
