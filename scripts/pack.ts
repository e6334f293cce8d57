// Makes the published packages: npm run pack -- [FOLDER]. The default folder is dist.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { stagePackages } from './stage-packages.ts'

const target = resolve(process.argv[2] ?? join(import.meta.dirname, '../dist'))
const staging = mkdtempSync(join(tmpdir(), 'stemma-pack-'))
try {
  mkdirSync(target, { recursive: true })
  pack(await stagePackages(staging))
} finally {
  rmSync(staging, { recursive: true, force: true })
}

/** Uses the npm that started this script, or else the one in PATH. */
function pack(folders: string[]): void {
  const npm = process.env.npm_execpath
  const [command, ...npmArgs] = npm === undefined ? ['npm'] : [process.execPath, npm]
  const args = [...npmArgs, 'pack', ...folders, '--pack-destination', target]
  const { status, error } = spawnSync(command ?? 'npm', args, { cwd: staging, stdio: 'inherit' })
  if (error) console.error(`npm cannot be started: ${error.message}`)
  process.exitCode = status ?? 1
}
