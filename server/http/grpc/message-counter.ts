// Counts the messages in the body of a gRPC call without reading them.

/** The bytes before each message: the compressed flag, and the size in four bytes. */
const headBytes = 5

export type MessageCounter = {
  /** Messages that have begun so far. */
  begun: number
  /** Messages that have arrived completely. */
  complete: number
  /** Counts the messages in the next bytes of the body. */
  add(chunk: Uint8Array): void
}

export function openMessageCounter(): MessageCounter {
  let headBytesRead = 0
  let size = 0
  let remaining = 0
  const counter: MessageCounter = { begun: 0, complete: 0, add }

  function add(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (remaining > 0) {
        const skipped = Math.min(remaining, chunk.length - at)
        remaining -= skipped
        at += skipped
        if (remaining === 0) counter.complete++
        continue
      }
      if (headBytesRead === 0) counter.begun++
      else size = size * 256 + (chunk[at] as number) // `at` is in range
      headBytesRead++
      at++
      if (headBytesRead < headBytes) continue
      remaining = size
      if (size === 0) counter.complete++
      size = 0
      headBytesRead = 0
    }
  }

  return counter
}
