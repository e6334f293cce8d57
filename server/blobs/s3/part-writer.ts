// Cuts the bytes of an upload into parts of equal size and sends them, one while the next one is received.
import type { PartSpool } from './part-spool.ts'
import type { S3Storage } from './storage.ts'
import { randomName, tailWritesOf, type UploadState } from './upload-state.ts'

export type PartWriter = {
  /** Fetches the bytes after the last part: they begin the next one. */
  loadTail(): Promise<void>
  write(chunks: Buffer[]): Promise<void>
  /** Sends what is left. Throws if any part could not be sent; then the state ends before that part. */
  flush(): Promise<void>
  /** Describes what S3 has confirmed. */
  state(): UploadState
}

export function makePartWriter(
  { objects, multipart, keys, limits }: S3Storage,
  spool: PartSpool,
  id: string,
  before: UploadState,
): PartWriter {
  let state = before
  /** The version of every state that contains bytes of this append. */
  const version = randomName()
  /** Bytes of the part that is being received. */
  let filled = 0
  /** The part that is being sent. Resolves to its error, so that no rejection is unhandled. */
  let sending: Promise<{ error: unknown } | undefined> = Promise.resolve(undefined)

  async function fill(chunks: Buffer[]): Promise<void> {
    await spool.write(chunks, filled)
    filled += chunks.reduce((bytes, chunk) => bytes + chunk.length, 0)
  }

  async function settle(): Promise<void> {
    const failed = await sending
    if (failed) throw failed.error
  }

  async function sendPart(): Promise<void> {
    await settle()
    const body = spool.body(filled)
    sending = putPart(body).then(
      () => undefined,
      (error) => ({ error }),
    )
    spool.turn()
    filled = 0
  }

  async function putPart(body: ReturnType<PartSpool['body']>): Promise<void> {
    if (state.multipartId === undefined) {
      const dataName = randomName()
      await objects.put(keys.marker(id, dataName), '')
      state = { ...state, dataName, multipartId: await multipart.create(keys.data(id, dataName)) }
    }
    const { multipartId = '', dataName, etags } = state
    const etag = await multipart.putPart(keys.data(id, dataName), multipartId, etags.length + 1, body)
    state = { version, multipartId, dataName, etags: [...etags, etag], tail: undefined }
  }

  const removeTail = (name: string) => objects.remove(keys.tail(id, name)).catch(() => {})

  return {
    async loadTail() {
      if (!before.tail) return
      const { name, size, previous } = before.tail
      // The previous tail object is not needed any more: the stored state names the current one.
      const removed = previous === undefined ? undefined : removeTail(previous)
      for await (const chunk of await objects.get(keys.tail(id, name))) await fill([chunk])
      if (filled !== size) throw new Error(`the tail of the upload has ${filled} bytes instead of ${size}`)
      await removed
    },
    async write(chunks) {
      let rest = chunks
      while (rest.length > 0) {
        const { fitting, others } = splitAt(rest, limits.partBytes - filled)
        await fill(fitting)
        if (filled === limits.partBytes) await sendPart()
        rest = others
      }
    },
    async flush() {
      await settle()
      if (filled === (state.tail?.size ?? 0)) return
      const name = randomName()
      await objects.put(keys.tail(id, name), spool.body(filled))
      // If a part was sent, `state` has no tail any more, so the writes of the tail are counted from zero again.
      const tail = { name, size: filled, writes: tailWritesOf(state) + 1, previous: before.tail?.name }
      state = { ...state, version, tail }
    },
    state: () => state,
  }
}

/** Splits chunks at a number of bytes. */
function splitAt(chunks: Buffer[], bytes: number): { fitting: Buffer[]; others: Buffer[] } {
  const fitting: Buffer[] = []
  let room = bytes
  for (const [index, chunk] of chunks.entries()) {
    if (chunk.length > room) {
      const others = [chunk.subarray(room), ...chunks.slice(index + 1)]
      return { fitting: room > 0 ? [...fitting, chunk.subarray(0, room)] : fitting, others }
    }
    fitting.push(chunk)
    room -= chunk.length
  }
  return { fitting, others: [] }
}
