// Measures an import of advisories: its speed, compared with only reading and parsing the same files, and its peak
// memory.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeOrganization } from '../../server/commands/make-organization.ts'
import { readConfig } from '../../server/config/config.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import { runMeasured } from '../load/processes.ts'
import type { Line } from '../report/report.ts'
import { temporarySettings } from '../stores/bench-server.ts'

const recordCount = 100_000
const minRatio = 1 / 3
const maxBytes = 300e6

export async function benchImport(): Promise<Line[]> {
  const temporary = await temporarySettings()
  try {
    const { config } = readConfig({}, temporary.settings)
    const folder = join(config.dataDir, 'records')
    await writeRecords(folder)
    const store = openStore(config)
    await prepareStore(config, store)
    const { organization } = await makeOrganization(
      { store, authUrl: config.authUrl, now: Date.now, random: randomBytes },
      'bench',
    )
    await store.close()
    const files = readdirSync(folder).map((name) => join(folder, name))
    const asyncReadRate = await recordsPerSecond(async () => {
      for (const file of files) JSON.parse(await readFile(file, 'utf8'))
    })
    const syncReadRate = await recordsPerSecond(async () => {
      for (const file of files) JSON.parse(readFileSync(file, 'utf8'))
    })
    const settings = ['--data-dir', config.dataDir]
    const first = await runMeasured(['import', 'advisories', '--group', organization, folder, ...settings])
    const second = await runMeasured(['import', 'advisories', '--group', organization, folder, ...settings])
    return [
      rateLine('Import of 100k OSV records against reading and parsing them', first.seconds, asyncReadRate),
      rateLine('… against reading them with readFileSync', first.seconds, syncReadRate),
      rateLine(
        '… second import of the same records, against reading and parsing',
        second.seconds,
        asyncReadRate,
      ),
      {
        ...{ label: 'Peak memory of the first import', measured: megabytes(first.memory) },
        ...{ baseline: '', ratio: '' },
        ...{ goal: `${megabytes(maxBytes)} at most`, isMet: first.memory <= maxBytes },
      },
    ]
  } finally {
    await temporary.remove()
  }
}

const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`

async function recordsPerSecond(readAll: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await readAll()
  return (recordCount / (performance.now() - started)) * 1000
}

function rateLine(label: string, seconds: number, baselineRate: number): Line {
  const rate = recordCount / seconds
  const format = (perSecond: number) => `${Math.round(perSecond).toLocaleString('en')}/s`
  return {
    ...{
      label,
      measured: format(rate),
      baseline: format(baselineRate),
      ratio: (rate / baselineRate).toFixed(2),
    },
    ...{ goal: minRatio.toFixed(2), isMet: rate / baselineRate >= minRatio },
  }
}

const ghsaCharacters = '23456789cfghjmpqrvwx'

/** A block of four characters of a GHSA id. Different numbers below 160,000 give different blocks. */
const ghsaBlock = (number: number) =>
  Array.from({ length: 4 }, (_, at) => ghsaCharacters[Math.floor(number / 20 ** at) % 20]).join('')

async function writeRecords(folder: string): Promise<void> {
  await mkdir(folder)
  for (let at = 0; at < recordCount; at++) {
    // Because of the factors, the ids of consecutive records are far apart, as random ids would be.
    const [a, b] = [(at * 48_271) % 160_000, (at * 69_621) % 160_000]
    const id = `GHSA-${ghsaBlock(a)}-${ghsaBlock(b)}-${ghsaBlock(at)}`
    await writeFile(join(folder, `${id}.json`), JSON.stringify(recordOf(id, at)))
  }
}

/** A record of typical size. */
const recordOf = (id: string, at: number) => ({
  ...{ schema_version: '1.7.3', id, modified: '2026-02-03T04:05:06Z', published: '2026-01-02T03:04:05Z' },
  aliases: [`CVE-20${10 + (at % 17)}-${10_000 + at}`],
  summary: 'Out-of-bounds write while parsing input',
  details: 'This sentence stands for the description of a real record. '.repeat(20),
  severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N' }],
  affected: [
    {
      package: { ecosystem: 'npm', name: `package-${at % 20_000}`, purl: `pkg:npm/package-${at % 20_000}` },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.2.3' }] }],
    },
  ],
  references: [1, 2, 3, 4, 5].map((number) => ({
    type: 'WEB',
    url: `https://example.com/advisories/${at}/${number}`,
  })),
  database_specific: { cwe_ids: ['CWE-79'], severity: 'HIGH', github_reviewed: true },
})
