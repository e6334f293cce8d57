// The requests to S3 that read, write, copy, delete and list objects. They have no checksum
// headers, because R2 and Google Cloud Storage refuse some of these headers.
import type { IncomingMessage } from 'node:http'
import type { ByteRange } from '../blob-store.ts'
import type { S3Client } from './client.ts'
import type { RequestBody } from './exchange.ts'
import { isMissingObject, S3Failure, storageError } from './s3-failure.ts'
import { elements, elementText } from './xml.ts'

export type ListedObject = { key: string; size: number; modifiedAt: number }

export type S3Objects = ReturnType<typeof makeObjects>

const contentType = { 'content-type': 'application/octet-stream' }

export function makeObjects(client: S3Client, bucket: string, pageKeys: number) {
  /**
   * Uses ListObjects, which every server supports, not ListObjectsV2. The next page starts after
   * the last key of this one.
   */
  async function* list(prefix: string): AsyncGenerator<ListedObject> {
    let marker = ''
    for (;;) {
      const query = { prefix, marker, 'max-keys': String(pageKeys) }
      const xml = await client.sendForText({ method: 'GET', query }).catch((error) => {
        throw storageError(error)
      })
      const page = [...elements(xml, 'Contents')].map(readEntry)
      yield* page
      marker = page.at(-1)?.key ?? ''
      if (marker === '' || elementText(xml, 'IsTruncated') !== 'true') return
    }
  }

  return {
    list,
    /** Fails if the bucket does not exist or may not be used. */
    probe: (prefix: string) => client.sendForText({ method: 'GET', query: { prefix, 'max-keys': '1' } }),
    async size(key: string): Promise<number | undefined> {
      try {
        const headers = await client.sendForHeaders({ method: 'HEAD', key })
        return Number(headers['content-length'])
      } catch (error) {
        if (isMissingObject(error)) return undefined
        throw error
      }
    },
    get: (key: string, range?: ByteRange): Promise<IncomingMessage> =>
      client.send({
        method: 'GET',
        key,
        headers: range ? { range: `bytes=${range.first}-${range.last}` } : {},
      }),
    async put(key: string, body: RequestBody | string): Promise<void> {
      await client.sendForHeaders({ method: 'PUT', key, headers: contentType, body })
    },
    /** Copies an object of up to 5 GiB. */
    async copy(from: string, to: string): Promise<void> {
      const headers = { 'x-amz-copy-source': `/${bucket}/${from}` }
      await client.sendForText({ method: 'PUT', key: to, headers, isSlow: true })
    },
    async remove(key: string, signal?: AbortSignal): Promise<void> {
      await client.sendForHeaders({ method: 'DELETE', key, signal }).catch((error) => {
        if (!isMissingObject(error)) throw error
      })
    },
  }
}

function readEntry(xml: string): ListedObject {
  return {
    key: elementText(xml, 'Key') ?? '',
    size: Number(elementText(xml, 'Size')),
    modifiedAt: Date.parse(elementText(xml, 'LastModified') ?? ''),
  }
}

export const isOutOfRange = (error: unknown): boolean => error instanceof S3Failure && error.status === 416
