// Set-up for the tests of the SDKs: a platform with sign-in that trusts a third-party issuer, and advisories to export.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importAdvisories } from '../../server/commands/import/import-advisories.ts'
import type { Platform } from '../../server/testing/platform.ts'
import type { Engine } from '../../server/testing/stores.ts'
import { remove, temporaryFolder } from '../server/stemmad.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { startIssuer } from '../sign-in/foreign-issuer.ts'
import { startSignInPlatform } from '../sign-in/sign-in.ts'

export type SdkPlatform = {
  issuer: ForeignIssuer
  platform: Platform
  stop(): Promise<void>
}

export async function startSdkPlatform(engine: Engine, args: string[] = []): Promise<SdkPlatform> {
  const issuer = await startIssuer('ES256')
  const platform = await startSignInPlatform(engine, ['--trusted-issuers', issuer.issuer, ...args])
  return {
    issuer,
    platform,
    async stop() {
      await platform.stop()
      await issuer.close()
    },
  }
}

/** Imports OSV records with the ids GHSA-0, GHSA-1 and so on into the organization of the owner. */
export async function importRecords(
  { store, owner }: Platform,
  count: number,
  details?: string,
): Promise<void> {
  const record = (at: number) => ({
    ...{ schema_version: '1.7.3', id: `GHSA-${at}`, modified: '2026-02-03T04:05:06Z', details },
    affected: [{ package: { ecosystem: 'npm', name: `left-pad-${at}` } }],
  })
  const lines = Array.from({ length: count }, (_, at) => `${JSON.stringify(record(at))}\n`)
  const folder = await temporaryFolder()
  try {
    const file = join(folder, 'dump.jsonl')
    await writeFile(file, lines.join(''))
    await importAdvisories({ store, now: Date.now }, owner.organization, file, (line) => assert.fail(line))
  } finally {
    await remove(folder)
  }
}
