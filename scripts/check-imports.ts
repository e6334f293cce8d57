// Keeps every file to the rooms it may know, and the whole free of runtime import cycles.
import { join, posix } from 'node:path'
import { findCycles } from './import-cycles.ts'
import { type Import, listFiles, readImports } from './imports.ts'

// A room is a workspace or, in server, the first folder or file below it. `tables` are the table.ts of resources,
// `type x` allows only `import type`, `*` is everything but server/testing.
const mayImport: Record<string, string[]> = {
  api: [],
  cli: ['api'],
  scripts: ['api', 'server/config'],
  e2e: ['*', 'server/testing'],
  bench: ['*', 'server/testing'],
  'server/app': ['*'],
  'server/identification': ['*'],
  'server/services': ['*'],
  'server/storage': ['*'],
  'server/commands': ['*'],
  'server/main': ['server/config', 'server/app', 'server/log', 'server/commands'],
  'server/config': [],
  'server/log': [],
  'server/store': [],
  'server/aip': ['api'],
  'server/http': ['api', 'server/aip'],
  'server/reference': ['api', 'server/aip'],
  'server/rpc': ['api', 'server/aip', 'server/auth', 'server/policy'],
  'server/resources': ['api', 'server/aip', 'server/policy', 'server/store', 'type server/rpc'],
  'server/auth': ['api', 'server/aip', 'server/store', 'tables'],
  'server/policy': ['api', 'server/aip', 'server/store', 'tables'],
}

const root = join(import.meta.dirname, '..')
const imports = listFiles(root).flatMap((file) => readImports(root, file))
const offences = imports.filter((entry) => !isTest(entry.file) && !isAllowed(entry))
const cycles = findCycles(imports.filter((entry) => !entry.typeOnly))
for (const offence of offences) console.error(describe(offence))
for (const cycle of cycles) console.error(`import cycle: ${cycle.join(' -> ')}`)
process.exitCode = offences.length + cycles.length > 0 ? 1 : 0

function isTest(file: string): boolean {
  return file.endsWith('.test.ts') || /^server\/(testing\/|.*\/conformance\.ts$)/.test(file)
}

function isAllowed({ file, target, typeOnly }: Import): boolean {
  const from = roomOf(file)
  const to = roomOf(target)
  const allowed = mayImport[from] ?? []
  if (to === 'server/testing') return allowed.includes(to)
  if (from === 'server/resources' && to === from) return isNear(file, target) || isTable(target)
  if (to === from || allowed.includes(to) || allowed.includes('*')) return true
  if (isTable(target) && allowed.includes('tables')) return true
  return typeOnly && (allowed.includes(`type ${to}`) || (to === 'server/log' && from.startsWith('server/')))
}

function roomOf(path: string): string {
  const [workspace = '', below = ''] = path.split('/')
  return workspace === 'server' ? `server/${below.replace(/\.ts$/, '')}` : workspace
}

function isTable(path: string): boolean {
  return roomOf(path) === 'server/resources' && path.endsWith('/table.ts')
}

/** A resource knows its own folder and what lies in the folders above it, such as resources/standard.ts. */
function isNear(file: string, target: string): boolean {
  return `${posix.dirname(file)}/`.startsWith(`${posix.dirname(target)}/`)
}

function describe({ file, line, target }: Import): string {
  const rooms = [roomOf(file), roomOf(target)]
  const [from, to] = rooms[0] === rooms[1] ? [posix.dirname(file), posix.dirname(target)] : rooms
  return `${file}:${line} imports ${target}: room ${from} may not import room ${to}`
}
