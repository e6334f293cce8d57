// Objects that are assembled from parts.
import type { ByteRange } from '../blob-store.ts'
import type { S3Client } from './client.ts'
import type { RequestBody } from './exchange.ts'
import { isMissingObject, S3Failure } from './s3-failure.ts'
import { elements, elementText, encodeXml } from './xml.ts'

export type S3Multipart = ReturnType<typeof makeMultipart>

export function makeMultipart(client: S3Client, bucket: string) {
  return {
    async create(key: string): Promise<string> {
      const headers = { 'content-type': 'application/octet-stream' }
      const xml = await client.sendForText({ method: 'POST', key, query: { uploads: '' }, headers })
      return required(elementText(xml, 'UploadId'), 'UploadId')
    },
    /** Sends a part and returns its ETag. Sending a part again replaces it. */
    async putPart(key: string, uploadId: string, part: number, body: RequestBody): Promise<string> {
      const query = { partNumber: String(part), uploadId }
      const headers = await client.sendForHeaders({ method: 'PUT', key, query, body })
      return required(headers.etag, 'ETag')
    },
    /** Copies an object, or a range of it, to a part, and returns the ETag of the part. */
    async copyPart(
      key: string,
      uploadId: string,
      part: number,
      from: string,
      range?: ByteRange,
    ): Promise<string> {
      const query = { partNumber: String(part), uploadId }
      const source = { 'x-amz-copy-source': `/${bucket}/${from}` }
      const headers = range
        ? { ...source, 'x-amz-copy-source-range': `bytes=${range.first}-${range.last}` }
        : source
      const xml = await client.sendForText({ method: 'PUT', key, query, headers, isSlow: true })
      return required(elementText(xml, 'ETag'), 'ETag')
    },
    async complete(key: string, uploadId: string, etags: string[]): Promise<void> {
      const parts = etags.map(
        (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${encodeXml(etag)}</ETag></Part>`,
      )
      const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
      const headers = { 'content-type': 'application/xml' }
      await client.sendForText({ method: 'POST', key, query: { uploadId }, headers, body, isSlow: true })
    },
    async abort(key: string, uploadId: string): Promise<void> {
      await ignoreMissing(client.sendForText({ method: 'DELETE', key, query: { uploadId } }))
    },
    /** The ids of the uploads to exactly this key. MinIO lists uploads only by their whole key. */
    async list(key: string): Promise<string[]> {
      const xml = await ignoreMissing(
        client.sendForText({ method: 'GET', query: { uploads: '', prefix: key } }),
      )
      return [...elements(xml ?? '', 'Upload')]
        .filter((upload) => elementText(upload, 'Key') === key)
        .map((upload) => required(elementText(upload, 'UploadId'), 'UploadId'))
    },
  }
}

/**
 * Returns undefined if the upload does not exist, or if the server cannot list or abort uploads
 * (405, 501). Such a server removes the parts itself after a while.
 */
async function ignoreMissing<T>(result: Promise<T>): Promise<T | undefined> {
  return result.catch((error) => {
    if (isMissingObject(error)) return undefined
    if (error instanceof S3Failure && (error.status === 405 || error.status === 501)) return undefined
    throw error
  })
}

function required(value: string | undefined, name: string): string {
  if (!value) throw new Error(`the response of S3 contains no ${name}`)
  return value
}
