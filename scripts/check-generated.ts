// Generates api/gen and the generated part of docs again and compares them byte by byte with the committed files.
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const generatedPaths = [
  ...['api/gen/**', 'docs/reference/**', 'docs/openapi.json', 'docs/configuration.md'],
  // Only its table of services is generated; the rest is copied.
  'docs/clients.md',
]
const root = join(import.meta.dirname, '..')
const freshFolder = mkdtempSync(join(tmpdir(), 'stemma-generated-'))
try {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, 'generate.ts'), freshFolder], {
    stdio: 'inherit',
  })
  process.exitCode = status === 0 ? compare(read(freshFolder), read(root)) : 1
} finally {
  rmSync(freshFolder, { recursive: true })
}

function read(folder: string): Map<string, string> {
  const entries = globSync(generatedPaths, { cwd: folder, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(paths.map((path) => [relative(folder, path), readFileSync(path, 'latin1')]))
}

function compare(generatedFiles: Map<string, string>, committedFiles: Map<string, string>): number {
  const paths = new Set([...generatedFiles.keys(), ...committedFiles.keys()])
  const stale = [...paths].filter((path) => generatedFiles.get(path) !== committedFiles.get(path)).sort()
  for (const path of stale) console.error(`${path} differs from the generated file`)
  if (stale.length > 0) console.error('Run `npm run generate`.')
  return stale.length > 0 ? 1 : 0
}
