// The layout of the bucket: blobs/<algorithm>/<2 digits>/<digits>, and the objects of an upload in uploads/<id>/.
import { isUploadId } from '../blob-store.ts'
import { type Digest, parseDigest, placeOf } from '../digest.ts'

export type S3Keys = ReturnType<typeof makeKeys>

const marker = 'multipart'
const copyMarker = 'copy-'

const suffix = (name: string | undefined) => (name === undefined ? '' : `-${name}`)

export function makeKeys(prefix: string) {
  // Other characters would have to be encoded, and servers differ in how they sign them.
  if (!/^[\w./-]*$/.test(prefix)) throw new TypeError('a prefix may contain letters, digits and ._-/ only')
  const root = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`
  const uploads = `${root}uploads/`
  const blobs = `${root}blobs/`
  const folder = (id: string) => {
    if (!isUploadId(id)) throw new TypeError('invalid id of an upload')
    return `${uploads}${id}/`
  }
  return {
    blobs,
    uploads,
    blob: (digest: Digest) => `${blobs}${placeOf(digest)}`,
    digestOf: (key: string) => parseDigest(key.slice(blobs.length).replace(/\/..\//, ':')),
    folder,
    uploadIdOf: (key: string) => key.slice(uploads.length).split('/')[0] ?? '',
    /** The object that is assembled from parts. Objects of version 0.1 have no name. */
    data: (id: string, name: string | undefined) => `${folder(id)}data${suffix(name)}`,
    /**
     * An empty object that is written before the first part of the data object with this name.
     * `abandoned` finds uploads by it, because not every server can list parts.
     */
    marker: (id: string, name: string | undefined) => `${folder(id)}${marker}${suffix(name)}`,
    /** The key of the object whose marker has this key; undefined if the key is not that of a marker. */
    dataOfMarker: (id: string, key: string) =>
      key.startsWith(`${folder(id)}${marker}`)
        ? `${folder(id)}data${key.slice(folder(id).length + marker.length)}`
        : undefined,
    /**
     * An object that contains the id of the multipart upload by which the blob is copied. It exists until the copy ends,
     * so that `discard` can abort the copy of a killed process.
     */
    copyMarker: (id: string, digest: Digest) => `${folder(id)}${copyMarker}${digest.replace(':', '-')}`,
    /** The key of the blob whose copy has this marker; undefined if the key is not that of a marker. */
    blobOfCopyMarker: (id: string, key: string) => {
      const start = `${folder(id)}${copyMarker}`
      const digest = key.startsWith(start)
        ? parseDigest(key.slice(start.length).replace('-', ':'))
        : undefined
      return digest && `${blobs}${placeOf(digest)}`
    },
    tail: (id: string, name: string) => `${folder(id)}tail-${name}`,
  }
}
