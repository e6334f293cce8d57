// Limits the size of the files that `npm ci` writes, so that new dependencies or versions do not add to it unnoticed.
import assert from 'node:assert/strict'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const maxMegabytes = 550
/** The packages for other platforms contain other programs. */
const skip =
  `${process.platform}-${process.arch}` !== 'linux-x64' &&
  'the limit is for Linux on x64, where it is measured'

test(`npm ci writes at most ${maxMegabytes} MB`, { skip }, async () => {
  const workspaces = ['', 'api', 'server', 'cli', 'console', 'e2e', 'bench']
  const sizes = await Promise.all(workspaces.map((folder) => sizeOf(join(root, folder, 'node_modules'))))
  const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 1e6
  assert.ok(megabytes > 100, 'the packages are installed')
  assert.ok(megabytes <= maxMegabytes, `${megabytes.toFixed(1)} MB`)
})

/** The size of all files in bytes, without `.cache`, which npm does not write. Links are not followed. */
async function sizeOf(modules: string): Promise<number> {
  const entries = await readdir(modules, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter(
    (entry) => entry.isFile() && !entry.parentPath.startsWith(join(modules, '.cache')),
  )
  const stats = await Promise.all(files.map((file) => lstat(join(file.parentPath, file.name))))
  return stats.reduce((sum, { size }) => sum + size, 0)
}
