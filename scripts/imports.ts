// Finds the imports between files of this repository.
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export interface Import {
  file: string
  line: number
  target: string
  /** True for `import type`, `export type` and `typeof import(…)`, which Node removes. */
  isTypeOnly: boolean
}

const names = String.raw`(?:[\w$]+\s*,\s*)?(?:\{[^}]*\}|\*(?:\s+as\s+[\w$]+)?|[\w$]+)`
const importStatement = new RegExp(
  String.raw`^(?:import|export)\s+(?<type>type\s+(?!from\b))?(?:${names}\s+from\s+)?['"](?<path>[^'"]+)['"]`,
  'gm',
)
const importCall = /(?<type>\btypeof\s+)?\bimport\(\s*['"](?<path>[^'"]+)['"]/g

/** All hand-written TypeScript files, as paths relative to the root. */
export function listFiles(root: string): string[] {
  return globSync('{api,server,cli,console,e2e,bench,scripts}/**/*.{ts,tsx,mts}', {
    cwd: root,
    exclude: ['**/node_modules', 'api/gen'],
  })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
}

export function readImports(root: string, file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const matches = [...text.matchAll(importStatement), ...text.matchAll(importCall)]
  return matches.flatMap(({ index, groups }) => {
    const target = resolve(file, groups?.path ?? '')
    const line = text.slice(0, index).split('\n').length
    return target ? [{ file, line, target, isTypeOnly: groups?.type !== undefined }] : []
  })
}

function resolve(file: string, path: string): string | undefined {
  if (path.startsWith('.')) return posix.join(posix.dirname(file), path)
  return path.startsWith('@stemma/') ? path.slice('@stemma/'.length) : undefined
}
