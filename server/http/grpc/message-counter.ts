// Counts the messages in the body of a gRPC call without reading them.

/** The bytes before each message: the compressed flag, and the size in four bytes. */
const headBytes = 5

/** Takes the next bytes of the body. Returns how many messages have begun so far. */
export type MessageCounter = (chunk: Uint8Array) => number

export function openMessageCounter(): MessageCounter {
  let messages = 0
  let headBytesRead = 0
  let size = 0
  let remaining = 0
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (remaining > 0) {
        const skipped = Math.min(remaining, chunk.length - at)
        remaining -= skipped
        at += skipped
        continue
      }
      if (headBytesRead === 0) messages++
      else size = size * 256 + (chunk[at] as number) // `at` is in range
      headBytesRead++
      at++
      if (headBytesRead < headBytes) continue
      remaining = size
      size = 0
      headBytesRead = 0
    }
    return messages
  }
}
