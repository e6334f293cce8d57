// Checks that every file imports only the rooms it may know, and that no imports form a cycle, types included.
import { join, posix } from 'node:path'
import { findCycles } from './import-cycles.ts'
import { type Import, listFiles, readImports } from './imports.ts'

// A room is a workspace or, in server, the first folder or file below it. `tables` are the table.ts of resources,
// `type x` allows only `import type`, `*` is every room but server/testing. Every room of the server may also import
// server/bounded-map, and the type of a log.
const mayImport: Record<string, string[]> = {
  api: [],
  cli: ['api'],
  scripts: ['api', 'server/config'],
  e2e: ['*', 'server/testing'],
  bench: ['*', 'server/testing'],
  'server/app': ['*'],
  'server/authentication': ['*'],
  'server/resource-list': ['*'],
  'server/services': ['*'],
  'server/settings': ['*'],
  'server/storage': ['*'],
  'server/v1-services': ['*'],
  'server/commands': ['*'],
  'server/main': ['server/commands'],
  'server/config': [],
  'server/log': [],
  'server/bounded-map': [],
  'server/store': [],
  'server/crypto': [],
  'server/pages': [],
  'server/aip': ['api', 'type server/crypto'],
  'server/wire': ['api'],
  'server/claims': ['api'],
  'server/http': ['api', 'server/aip', 'server/wire'],
  'server/reference': ['api', 'server/pages'],
  'server/rpc': ['api', 'server/aip', 'server/wire', 'type server/auth', 'type server/policy'],
  'server/resources': [
    ...[
      'api',
      'server/aip',
      'server/wire',
      'server/claims',
      'server/crypto',
      'server/policy',
      'server/store',
    ],
    'type server/rpc',
  ],
  'server/auth': [
    ...['api', 'server/aip', 'server/wire', 'server/claims', 'server/crypto', 'server/pages', 'server/store'],
    'tables',
  ],
  'server/policy': ['api', 'server/aip', 'server/wire', 'server/store', 'tables'],
}

// Files of a room that only some of the rooms which may import the room may import.
const restricted: Record<string, string[]> = {
  'server/policy/system-access.ts': [
    'server/authentication',
    'server/commands',
    'server/storage',
    'e2e',
    'bench',
  ],
}

const shared = ['server/bounded-map', 'type server/log']

/** Folders that no other room may import, whatever the table says. */
const internal = ['server/store/statement/']

const root = join(import.meta.dirname, '..')
const imports = listFiles(root).flatMap((file) => readImports(root, file))
const offences = imports.filter((entry) => !isTest(entry.file) && !isAllowed(entry))
const cycles = findCycles(imports)
for (const offence of offences) console.error(describe(offence))
for (const cycle of cycles) console.error(`import cycle: ${cycle.join(' -> ')}`)
process.exitCode = offences.length + cycles.length > 0 ? 1 : 0

function isTest(file: string): boolean {
  return file.endsWith('.test.ts') || /^server\/(testing\/|.*\/conformance\.ts$)/.test(file)
}

function isAllowed({ file, target, typeOnly }: Import): boolean {
  const from = roomOf(file)
  const to = roomOf(target)
  const allowed = [...(mayImport[from] ?? []), ...(from.startsWith('server/') ? shared : [])]
  if (to !== from && internal.some((folder) => target.startsWith(folder))) return false
  if (to === 'server/testing') return allowed.includes(to)
  if (restricted[target] && !restricted[target].includes(from)) return false
  if (from === 'server/resources' && to === from) return isNear(file, target) || isTable(target)
  if (to === from || allowed.includes(to) || allowed.includes('*')) return true
  if (isTable(target) && allowed.includes('tables')) return true
  return typeOnly && allowed.includes(`type ${to}`)
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
