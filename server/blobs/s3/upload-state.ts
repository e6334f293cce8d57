// The state of an upload, with which any copy can continue it. All bytes that it describes are in S3.
import { randomBytes } from 'node:crypto'

export type UploadState = {
  /**
   * Random, and new after each append, so that no two appends return the same state, not even if two
   * copies continue the same upload. So a hash that is kept in memory for a state always matches the
   * bytes that the state describes. States of version 0.1 do not contain it.
   */
  version?: string | undefined
  /** The id of the multipart upload, once a part is full. */
  multipartId?: string | undefined
  /** The random name of the object that is assembled from the parts. States of version 0.1 do not contain it. */
  dataName?: string | undefined
  /** The ETags of the parts, which all have the same size. They prove at the end that no part was replaced. */
  etags: string[]
  tail?: Tail | undefined
}

/**
 * The bytes after the last part, in an object of their own. Each append that changes them writes a
 * new object with a random name, so no object is ever overwritten. `writes` is how often they were
 * written since the last part, and `previous` the name of the object that this one replaces.
 */
export type Tail = { name: string; size: number; writes: number; previous?: string | undefined }

/** The tail in states of version 0.1. The objects were numbered. */
type NumberedTail = { index: number; size: number; writes?: number }

/** Hard to guess and never used twice. */
export const randomName = (): string => randomBytes(16).toString('hex')

export const tailWritesOf = ({ tail }: UploadState): number => tail?.writes ?? 0

export function parseState(text: string): UploadState {
  if (text === '') return { etags: [] }
  const { tail, ...state }: UploadState & { tail?: Tail | NumberedTail } = JSON.parse(text)
  return { ...state, tail: tail && 'index' in tail ? namedTail(tail) : tail }
}

const namedTail = ({ index, size, writes = index }: NumberedTail): Tail => ({
  ...{ name: String(index), size, writes },
  ...(index > 1 && { previous: String(index - 1) }),
})

export const formatState = (state: UploadState): string => JSON.stringify(state)

export const sizeOfState = ({ etags, tail }: UploadState, partBytes: number): number =>
  etags.length * partBytes + (tail?.size ?? 0)
