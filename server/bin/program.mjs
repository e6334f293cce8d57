// Chooses what the launcher runs: a bundle of the server (../build/bundle-server.ts), which starts faster, or its sources.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ownFolder = join(import.meta.dirname, '..')

/** Where a clone keeps its bundle. `npm ci` deletes it. */
export const cachedBundle = 'node_modules/.cache/bundle'

/**
 * A JSON file in this bundle. It maps the path of each source, and of each other file of the bundle, to its `stateOf`.
 * The paths are relative to the folder of the server.
 */
export const statesFile = 'states.json'

/** The size of a file and the time of its last change, as in the index of Git. Reading all files would take too long. */
export function stateOf(path, server = ownFolder) {
  const { size, mtimeMs } = statSync(`${server}/${path}`)
  return `${size} ${mtimeMs}`
}

/**
 * Packages and container images contain a bundle. In a clone the first start makes one, which takes no longer than
 * compiling the sources would. After a change of a source, the sources run: the bundle is not replaced, because a running
 * server loads some of its files only when it needs them.
 */
export function serverProgram(server = ownFolder) {
  const packed = join(server, 'bundle/main.mjs')
  if (existsSync(packed)) return packed
  const cached = join(server, cachedBundle)
  if (!existsSync(cached)) makeBundle(server)
  return isCurrent(server) ? join(cached, 'main.mjs') : join(server, 'main.ts')
}

/** Makes no bundle without esbuild, which is a development dependency, or if the folder is read-only. */
function makeBundle(server) {
  const { spawnSync } = process.getBuiltinModule('node:child_process') // loaded only here, because it takes 8 ms
  spawnSync(process.execPath, [join(server, 'build/main.ts')], { stdio: 'ignore' })
}

function isCurrent(server) {
  try {
    const states = Object.entries(JSON.parse(readFileSync(join(server, cachedBundle, statesFile), 'utf8')))
    return states.length > 0 && states.every(([path, state]) => stateOf(path, server) === state)
  } catch {
    return false // there is no bundle, or a file was deleted
  }
}
