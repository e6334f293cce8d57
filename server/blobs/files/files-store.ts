// Content in a folder of this machine. A blob appears by a rename when it is complete and on disk, so a crash at any
// moment leaves either the whole blob or an upload that `abandoned` lists.
import { access, constants, open, rm, stat } from 'node:fs/promises'
import { digestMismatch, fileError, isMissing, uploadNotFound } from '../blob-error.ts'
import type { BlobStore, Upload } from '../blob-store.ts'
import { algorithmOf, type Digest, hexOf } from '../digest.ts'
import { hashFile } from '../hash-content.ts'
import { makeHeldUploads } from '../held-uploads.ts'
import { makePace } from '../pace.ts'
import { makeRunningHashes } from '../running-hashes.ts'
import { openContent } from './content.ts'
import { fileMode, foldersIn, makeFolder } from './folders.ts'
import { publish } from './publish.ts'
import { appendToSpool, markOf, withSpool } from './spool.ts'
import { walkAbandoned, walkBlobs } from './walk.ts'

export type FilesOptions = { folder: string }

export async function openFilesStore({ folder }: FilesOptions): Promise<BlobStore> {
  const folders = foldersIn(folder)
  const pace = makePace()
  const hashes = makeRunningHashes(pace)
  const { hold, isHeld } = makeHeldUploads()
  await makeFolder(folders.blobs)
  await makeFolder(folders.uploads)

  async function sizeOf(path: string): Promise<number | undefined> {
    return stat(path).then(
      ({ size }) => size,
      (error) => {
        if (isMissing(error)) return undefined
        throw fileError(error)
      },
    )
  }

  async function verify(id: string, digest: Digest): Promise<number> {
    return withSpool(folders.uploadPath(id), id, async (file) => {
      const stats = await file.stat()
      const running = hashes.take(id, markOf(stats))
      const algorithm = algorithmOf(digest)
      const actual =
        running?.algorithm === algorithm ? running.hash.digest('hex') : await hashFile(file, algorithm, pace)
      if (actual !== hexOf(digest)) {
        await rm(folders.uploadPath(id), { force: true })
        throw digestMismatch(digest, `${algorithm}:${actual}`)
      }
      await file.sync()
      return stats.size
    })
  }

  return {
    size: (digest) => sizeOf(folders.blobPath(digest)),
    read: (digest, range) => openContent(folders.blobPath(digest), digest, range),
    delete: (digest, signal) => deleteFile(folders.blobPath(digest), signal).catch(rethrow),
    list: () => walkBlobs(folders),
    async begin(id, algorithm = 'sha256'): Promise<Upload> {
      const path = folders.uploadPath(id)
      try {
        await using file = await open(path, 'wx', fileMode)
        hashes.begin(id, markOf(await file.stat()), algorithm)
      } catch (error) {
        throw fileError(error)
      }
      return { id, size: 0, state: '' }
    },
    append: ({ id }, body, options = {}) =>
      hold(id, () =>
        withSpool(folders.uploadPath(id), id, async (file) => {
          const { size, failure } = await appendToSpool(hashes, id, file, body, options)
          const upload = { id, size, state: '' }
          return failure ? { upload, failure } : { upload }
        }),
      ),
    async uploadSize({ id }) {
      const size = await sizeOf(folders.uploadPath(id))
      if (size === undefined) throw uploadNotFound(id)
      return size
    },
    finish: ({ id }, digest) =>
      hold(id, async () => {
        const size = await verify(id, digest)
        await publish(folders.uploadPath(id), folders.blobPath(digest)).catch(rethrow)
        return size
      }),
    async discard({ id }) {
      hashes.forget(id)
      await rm(folders.uploadPath(id), { force: true }).catch(rethrow)
    },
    async *abandoned(before) {
      for await (const upload of walkAbandoned(folders, before)) if (!isHeld(upload.id)) yield upload
    },
    check: () => access(folders.uploads, constants.R_OK | constants.W_OK | constants.X_OK).catch(rethrow),
    close: async () => hashes.clear(),
  }
}

async function deleteFile(path: string, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await rm(path, { force: true })
}

function rethrow(error: unknown): never {
  throw fileError(error)
}
