// Generates api/gen and the generated part of docs again and compares them byte by byte with the committed files.
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const generated = ['api/gen/**', 'docs/reference/**', 'docs/openapi.json', 'docs/configuration.md']
const root = join(import.meta.dirname, '..')
const fresh = mkdtempSync(join(tmpdir(), 'stemma-generated-'))
try {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, 'generate.ts'), fresh], {
    stdio: 'inherit',
  })
  process.exitCode = status === 0 ? compare(read(fresh), read(root)) : 1
} finally {
  rmSync(fresh, { recursive: true })
}

function read(folder: string): Map<string, string> {
  const entries = globSync(generated, { cwd: folder, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(paths.map((path) => [relative(folder, path), readFileSync(path, 'latin1')]))
}

function compare(wanted: Map<string, string>, found: Map<string, string>): number {
  const paths = new Set([...wanted.keys(), ...found.keys()])
  const stale = [...paths].filter((path) => wanted.get(path) !== found.get(path)).sort()
  for (const path of stale) console.error(`${path} differs from the generated file`)
  if (stale.length > 0) console.error('Run `npm run generate`.')
  return stale.length > 0 ? 1 : 0
}
