import type { Stats } from 'node:fs'
import { mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { UsageError } from '../failure.ts'

/** As many as Linux follows. */
const maxLinks = 40

/**
 * Replaces a file, so that readers see the old or the new content, never a part of it. Keeps its
 * mode and, if permitted, its owner. If the file is a symbolic link, replaces its target.
 */
export async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const target = await targetOf(file)
  const old = await stat(target).catch(ifMissing)
  const draft = `${target}.${process.pid}.tmp`
  try {
    await writeDraft(draft, text, old)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function writeDraft(draft: string, text: string, old: Stats | undefined): Promise<void> {
  const handle = await open(draft, 'w', 0o600)
  try {
    await handle.writeFile(text)
    if (old) {
      // Only root may change the owner. If another user replaces the file, that user owns it.
      await handle.chown(old.uid, old.gid).catch(() => undefined)
      await handle.chmod(old.mode & 0o7777)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Follows symbolic links one by one, because the file that the last one leads to need not exist. */
async function targetOf(file: string): Promise<string> {
  let target = file
  for (let count = 0; count <= maxLinks; count++) {
    const folder = await realpath(dirname(target))
    const link = await readlink(target).catch(() => undefined)
    if (link === undefined) return join(folder, basename(target))
    target = resolve(folder, link)
  }
  throw new UsageError(`${file} leads through more than ${maxLinks} symbolic links`)
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
