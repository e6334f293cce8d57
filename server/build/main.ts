// Writes a bundle of the server: node server/build/main.ts [FOLDER]. Without a folder, it becomes the bundle of this clone
// unless that exists (../bin/program.mjs). With a folder, it is for a copy of the server whose folder contains it.
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cachedBundle, inputsFile, stateOf } from '../bin/program.mjs'
import { bundleServer } from './bundle-server.ts'

const [, , folder] = process.argv
if (folder === undefined) await bundleClone()
else await bundleServer(folder, '..')

async function bundleClone(): Promise<void> {
  const target = join(import.meta.dirname, '..', cachedBundle)
  const parent = dirname(target)
  mkdirSync(parent, { recursive: true })
  const temporary = mkdtempSync(join(parent, 'bundle-'))
  try {
    const inputs = await bundleServer(temporary, '../../..')
    const states = Object.fromEntries(inputs.map((path) => [path, stateOf(path)]))
    writeFileSync(join(temporary, inputsFile), JSON.stringify(states))
    renameSync(temporary, target) // fails if another process has made the bundle meanwhile
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
