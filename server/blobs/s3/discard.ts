import { readText } from './exchange.ts'
import type { S3Storage } from './storage.ts'
import type { UploadState } from './upload-state.ts'

/**
 * Deletes the objects of a finished upload. A small upload has one or two objects, and its state
 * tells their keys. An upload with parts can have more objects; `discardAll` lists them.
 */
export async function discardKnown(storage: S3Storage, id: string, state: UploadState): Promise<void> {
  const { objects, keys } = storage
  const { tail, multipartId } = state
  const tails = [tail?.name, tail?.previous].filter((name) => name !== undefined)
  await Promise.all(tails.map((name) => objects.remove(keys.tail(id, name))))
  if (multipartId !== undefined) await discardAll(storage, id)
}

/** Deletes everything of an upload, including parts that a killed process has left. */
export async function discardAll({ objects, multipart, keys }: S3Storage, id: string): Promise<void> {
  const listed = (await Array.fromAsync(objects.list(keys.folder(id)))).map(({ key }) => key)
  const markers = listed.filter((key) => keys.dataOfMarker(id, key) !== undefined)
  for (const data of markers.flatMap((key) => keys.dataOfMarker(id, key) ?? [])) {
    const uploadIds = await multipart.list(data)
    await Promise.all(uploadIds.map((uploadId) => multipart.abort(data, uploadId)))
  }
  for (const key of listed) {
    const blob = keys.blobOfCopyMarker(id, key)
    if (blob) await multipart.abort(blob, await readText(await objects.get(key)))
  }
  const others = listed.filter((key) => !markers.includes(key))
  await Promise.all(others.map((key) => objects.remove(key)))
  // The markers are last: as long as one exists, the upload is listed as abandoned.
  await Promise.all(markers.map((key) => objects.remove(key)))
}
