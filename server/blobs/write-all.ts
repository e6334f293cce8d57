import type { FileHandle } from 'node:fs/promises'

/** Writes the chunks at a position. The kernel may write fewer bytes than asked. */
export async function writeAll(file: FileHandle, chunks: Buffer[], position: number): Promise<void> {
  let rest = chunks.filter((chunk) => chunk.length > 0)
  let at = position
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest, at)
    at += bytesWritten
    rest = skipBytes(rest, bytesWritten)
  }
}

function skipBytes(chunks: Buffer[], bytes: number): Buffer[] {
  let left = bytes
  let index = 0
  for (let chunk = chunks[index]; chunk && left >= chunk.length; chunk = chunks[index]) {
    left -= chunk.length
    index++
  }
  const [first, ...others] = chunks.slice(index)
  return first ? [first.subarray(left), ...others] : []
}
