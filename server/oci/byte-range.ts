// Ranges of bytes: `Range` of a download (RFC 9110, section 14) and `Content-Range` of a chunk of an upload (OCI
// Distribution 1.1, "Pushing a blob in chunks").
import type { ByteRange } from '../blobs/blob-store.ts'

/**
 * The range that a header asks for, cut off at the end of the content. Undefined if there is no header, or one that a
 * server may ignore: several ranges, or another unit. 'unsatisfiable' if the range contains no byte of the content.
 */
export function requestedRange(
  header: string | undefined,
  size: number,
): ByteRange | undefined | 'unsatisfiable' {
  const match = /^bytes=(?<from>\d{0,16})-(?<to>\d{0,16})$/.exec(header ?? '')
  const { from = '', to = '' } = match?.groups ?? {}
  if (!match || (from === '' && to === '')) return undefined
  const range =
    from === ''
      ? { first: Math.max(0, size - Number(to)), last: size - 1 }
      : { first: Number(from), last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
  return range.first > range.last || (from === '' && Number(to) === 0) ? 'unsatisfiable' : range
}

/** The `Content-Range` of a chunk: `FIRST-LAST`, without a unit and a total. Undefined if it has another form. */
export function chunkRange(header: string): ByteRange | undefined {
  const { first, last } = /^(?<first>\d{1,16})-(?<last>\d{1,16})$/.exec(header)?.groups ?? {}
  const range = { first: Number(first), last: Number(last) }
  return range.first <= range.last ? range : undefined
}

/** The `Range` of an upload that has this many bytes. An empty one has no last byte, and is `0-0` by convention. */
export const uploadedRange = (size: number): string => `0-${Math.max(0, size - 1)}`
