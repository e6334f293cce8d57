// Checks that every file imports only rooms that its own room may import (rooms.ts), and that imports form no cycle, not
// even a cycle of `import type`.
import { join, posix } from 'node:path'
import { findCycles } from './import-cycles.ts'
import { type Import, listFiles, readImports } from './imports.ts'
import { internalFolders, mayImport, restrictedFiles, sharedRooms } from './rooms.ts'

const root = join(import.meta.dirname, '..')
const imports = listFiles(root).flatMap((file) => readImports(root, file))
const forbiddenImports = imports.filter((entry) => !isTest(entry.file) && !isAllowed(entry))
const cycles = findCycles(imports)
for (const forbiddenImport of forbiddenImports) console.error(describe(forbiddenImport))
for (const cycle of cycles) console.error(`import cycle: ${cycle.join(' -> ')}`)
process.exitCode = forbiddenImports.length + cycles.length > 0 ? 1 : 0

function isTest(file: string): boolean {
  return file.endsWith('.test.ts') || /^server\/(testing\/|.*\/test-stores\.ts$)/.test(file)
}

function isAllowed({ file, target, isTypeOnly }: Import): boolean {
  const from = roomOf(file)
  const to = roomOf(target)
  const allowed = [...(mayImport[from] ?? []), ...(from.startsWith('server/') ? sharedRooms : [])]
  if (to !== from && internalFolders.some((folder) => target.startsWith(folder))) return false
  if (to === 'server/testing') return allowed.includes(to)
  if (restrictedFiles[target] && !restrictedFiles[target].includes(from)) return false
  if (from === 'server/resources' && to === from) return isInOwnFolderOrAbove(file, target) || isTable(target)
  if (to === from || allowed.includes(to) || allowed.includes('*')) return true
  if (isTable(target) && allowed.includes('tables')) return true
  return isTypeOnly && allowed.includes(`type ${to}`)
}

function roomOf(path: string): string {
  const [workspace = '', below = ''] = path.split('/')
  return workspace === 'server' ? `server/${below.replace(/\.ts$/, '')}` : workspace
}

function isTable(path: string): boolean {
  return roomOf(path) === 'server/resources' && path.endsWith('/table.ts')
}

/** A resource may import its own folder and the files in the folders above it, such as resources/create.ts. */
function isInOwnFolderOrAbove(file: string, target: string): boolean {
  return `${posix.dirname(file)}/`.startsWith(`${posix.dirname(target)}/`)
}

function describe({ file, line, target }: Import): string {
  const from = roomOf(file) === roomOf(target) ? posix.dirname(file) : roomOf(file)
  return `${file}:${line}: files of ${from} may not import ${target}`
}
