import type { S3Storage } from './storage.ts'
import type { UploadState } from './upload-state.ts'

/**
 * Deletes the objects of a finished upload. A small upload has one or two objects, and its state
 * tells their keys. An upload with parts can have more objects; `discardAll` lists them.
 */
export async function discardKnown(storage: S3Storage, id: string, state: UploadState): Promise<void> {
  const { objects, keys } = storage
  const { tail, multipartId } = state
  const tails = tail ? [tail.index, tail.index - 1].filter((index) => index > 0) : []
  await Promise.all(tails.map((index) => objects.remove(keys.tail(id, index))))
  if (multipartId !== undefined) await discardAll(storage, id)
}

/** Deletes everything of an upload, including parts that a killed process has left. */
export async function discardAll({ objects, multipart, keys }: S3Storage, id: string): Promise<void> {
  const uploadIds = await multipart.list(keys.data(id))
  await Promise.all(uploadIds.map((uploadId) => multipart.abort(keys.data(id), uploadId)))
  const listed = await Array.fromAsync(objects.list(keys.folder(id)))
  // The marker is last: as long as it exists, the upload is listed as abandoned.
  const others = listed.filter(({ key }) => key !== keys.marker(id))
  await Promise.all(others.map(({ key }) => objects.remove(key)))
  if (others.length < listed.length) await objects.remove(keys.marker(id))
}
