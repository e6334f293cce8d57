// A platform into whose store tests import advisories, with a folder for the files that are imported.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { JsonObject } from '@bufbuild/protobuf'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Overrides } from '../../server/app.ts'
import { convertRecords } from '../../server/commands/import/convert-records.ts'
import type { Summary } from '../../server/commands/import/import-advisories.ts'
import { importAdvisories } from '../../server/commands/import/import-advisories.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { Engine } from '../../server/testing/stores.ts'
import { remove, temporaryFolder } from '../server/stemmad.ts'

export type OsvRecord = { [name: string]: unknown; id: string; modified: string; aliases: string[] }

/** An OSV record as package ecosystems publish it. `number` makes its id, alias and package unique. */
export const osv = (number: number, otherFields: object = {}): OsvRecord => ({
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

export type ImportPlatform = {
  platform: Platform
  folder: string
  /** The flags that make stemmad use the store of the platform. */
  storeFlags: string[]
  /** Writes a file in the folder, as JSON unless `content` is a string, and returns its path. */
  put(name: string, content: unknown): Promise<string>
  /** Imports into the organization of an identity, without the thread of `stemmad import`. */
  runImport(path: string, into: TestIdentity): Promise<Summary & { warnings: string[] }>
  /** The advisories that an identity can list, ordered by package. */
  list(as: TestIdentity, filter?: JsonObject): Promise<JsonObject[]>
  stop(): Promise<void>
}

export async function startImportPlatform(
  engine: Engine,
  overrides: Overrides = {},
): Promise<ImportPlatform> {
  const platform = await startPlatform(engine, [], overrides)
  const folder = await temporaryFolder()
  const door = restDoor(platform.url)
  const { dataDir, baseUrl, databaseUrl, secretKey } = platform.config
  return {
    platform,
    folder,
    storeFlags: [
      ...['--data-dir', dataDir, '--base-url', baseUrl],
      ...(databaseUrl ? ['--database-url', databaseUrl, '--secret-key', secretKey ?? ''] : []),
    ],
    async put(name, content) {
      const file = join(folder, name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
      return file
    },
    async runImport(path, { organization }) {
      const warnings: string[] = []
      const report = (line: string) => void warnings.push(line)
      const deps = { store: platform.store, now: Date.now, convert: convertRecords }
      return { ...(await importAdvisories(deps, organization, path, report)), warnings }
    },
    async list({ token }, filter = {}) {
      const request = { orderBy: 'artifact_name', ...filter }
      const { body, error } = await door.call(AdvisoriesService.method.listAdvisories, request, token)
      assert.ok(body, error?.message)
      return body.advisories as JsonObject[]
    },
    async stop() {
      await platform.stop()
      await remove(folder)
    },
  }
}
