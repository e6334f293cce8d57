// Writes a bundle of the server: node server/build/main.ts [FOLDER]. Without FOLDER, it becomes the bundle of this
// clone (`cachedBundle` in ../bin/program.mjs), and the command fails if there is one already. A bundle in FOLDER works
// only directly below the folder of a server, such as in server/bundle of a container image.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { cachedBundle, stateOf, statesFile } from '../bin/program.mjs'
import { bundleServer } from './bundle-server.ts'

const server = join(import.meta.dirname, '..')
const target = join(server, cachedBundle)
const parent = dirname(target)
const prefix = 'bundle-'
const hourMs = 60 * 60 * 1000

const [, , folder] = process.argv
if (folder === undefined) await bundleClone()
else await bundleServer(resolve(folder), '..')

async function bundleClone(): Promise<void> {
  mkdirSync(parent, { recursive: true })
  removeInterrupted()
  const temporary = mkdtempSync(join(parent, prefix))
  try {
    const started = Date.now()
    const sources = await bundleServer(temporary, '../../..')
    requireUnchangedSince(started, sources)
    writeFileSync(join(temporary, statesFile), JSON.stringify(statesOf(sources, temporary)))
    chmodSync(temporary, 0o777 & ~process.umask()) // mkdtemp lets only this user read it
    renameSync(temporary, target) // fails if another process has made the bundle meanwhile
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** Removes what bundling left when it was interrupted. */
function removeInterrupted(): void {
  for (const name of readdirSync(parent))
    if (name.startsWith(prefix) && statSync(join(parent, name)).mtimeMs < Date.now() - hourMs)
      rmSync(join(parent, name), { recursive: true, force: true })
}

/** A source that was edited meanwhile may be in the bundle as it was before. */
function requireUnchangedSince(time: number, sources: readonly string[]): void {
  const edited = sources.find((path) => statSync(join(server, path)).mtimeMs >= time)
  if (edited !== undefined) throw new Error(`${edited} has changed while the server was bundled`)
}

function statesOf(sources: readonly string[], bundle: string): Record<string, string> {
  const files = readdirSync(bundle).map((name) => [`${cachedBundle}/${name}`, stateOf(name, bundle)])
  return Object.fromEntries([...sources.map((path) => [path, stateOf(path)]), ...files])
}
