// The state of an upload, with which any copy can continue it. All bytes that it describes are in S3.
export type UploadState = {
  /** The id of the multipart upload, once a part is full. */
  multipartId?: string | undefined
  /** The ETags of the parts, which all have the same size. They prove at the end that no part was replaced. */
  etags: string[]
  /**
   * The bytes after the last part, in an object of their own. Each append that changes them writes
   * a new object, with the next index. `writes` is how often they were written since the last part;
   * states of version 0.1 do not contain it.
   */
  tail?: { index: number; size: number; writes?: number } | undefined
}

export const tailWritesOf = ({ tail }: UploadState): number => tail?.writes ?? tail?.index ?? 0

export const parseState = (state: string): UploadState => (state === '' ? { etags: [] } : JSON.parse(state))

export const formatState = (state: UploadState): string => JSON.stringify(state)

export const sizeOfState = ({ etags, tail }: UploadState, partBytes: number): number =>
  etags.length * partBytes + (tail?.size ?? 0)
