// The layout of the content folder: blobs/<algorithm>/<first 2 digits of the digest>/<all digits> and uploads/<id>.
import { mkdir, open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isUploadId } from '../blob-store.ts'
import { type Digest, placeOf } from '../digest.ts'

/** Content is private: only the user that runs the server can read it. */
export const fileMode = 0o600
const folderMode = 0o700

export type Folders = {
  root: string
  blobs: string
  uploads: string
  blobPath(digest: Digest): string
  uploadPath(id: string): string
}

export function foldersIn(root: string): Folders {
  const blobs = join(root, 'blobs')
  const uploads = join(root, 'uploads')
  return {
    root,
    blobs,
    uploads,
    blobPath: (digest) => join(blobs, placeOf(digest)),
    uploadPath(id) {
      if (!isUploadId(id)) throw new TypeError('invalid id of an upload')
      return join(uploads, id)
    },
  }
}

/** Creates a folder and those above it. A new folder is durable only when the folder that contains it is synced. */
export async function makeFolder(path: string): Promise<void> {
  // Each parent of an absolute path is shorter, so the loop ends. With a relative path it might
  // not: the parent of `.` is `.`.
  const absolute = resolve(path)
  const first = await mkdir(absolute, { recursive: true, mode: folderMode })
  if (first === undefined) return
  for (let folder = absolute; folder.length >= first.length; folder = dirname(folder)) {
    await syncFolder(dirname(folder))
  }
}

export async function syncFolder(path: string): Promise<void> {
  // Windows cannot sync a folder.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
