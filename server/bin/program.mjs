// Chooses what the launcher runs: a bundle of the server (../build/bundle-server.ts), which starts faster, or its sources.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ownFolder = new URL('..', import.meta.url)

/** Where a clone keeps its bundle. `npm ci` deletes it. */
export const cachedBundle = 'node_modules/.cache/bundle/'

/** A file of this bundle: the state of each source, by its path relative to the folder of the server. */
export const inputsFile = 'inputs.json'

/** The size of a file and the time of its last change, as in the index of Git. Reading all files would take too long. */
export function stateOf(path, server = ownFolder) {
  const { size, mtimeMs } = statSync(new URL(path, server))
  return `${size} ${mtimeMs}`
}

/**
 * Packages and container images contain a bundle. In a clone the first start makes one, which takes no longer than
 * compiling the sources would. It is never replaced, because a running server loads some of its files only when it needs
 * them. After a change of a source, the sources run.
 */
export function serverProgram(server = ownFolder) {
  const packed = new URL('bundle/main.mjs', server)
  if (existsSync(packed)) return packed
  if (!existsSync(new URL(cachedBundle, server))) makeBundle(server)
  return new URL(isCurrent(server) ? `${cachedBundle}main.mjs` : 'main.ts', server)
}

/** Makes no bundle without esbuild, which is a development dependency, or if the folder is read-only. */
const makeBundle = (server) =>
  spawnSync(process.execPath, [fileURLToPath(new URL('build/main.ts', server))], { stdio: 'ignore' })

function isCurrent(server) {
  try {
    const states = JSON.parse(readFileSync(new URL(`${cachedBundle}${inputsFile}`, server), 'utf8'))
    return Object.entries(states).every(([path, state]) => stateOf(path, server) === state)
  } catch {
    return false // there is no bundle, or a source was deleted
  }
}
