// Parses the pipelined requests of a connection one at a time: each in a later turn of the event loop, after the
// response to the one before is sent. Otherwise a single read of 64 KB would start thousands of requests at once, and
// their responses would wait in memory for a client that may never read them.
//
// Only connections that pipeline are paced. On all others, node:http reads the socket in native code, which is faster.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionState } from './connection-state.ts'
import { isUnsent } from './connection-state.ts'
import type { PacedTurns } from './paced-turns.ts'

/** Ends the head of every request. A chunked body ends with it, too. */
const blankLine = '\r\n\r\n'
const carriageReturn = 13
const lineFeed = 10

/**
 * The end of a chunked body is not known in advance, so a slice of it ends after this many blank lines. If the body
 * ends earlier, the slice also contains the requests that follow it.
 */
const blankLinesPerSlice = 8

/** Whether these first bytes of a connection may contain more than one request. */
export function mayBePipelined(bytes: Buffer): boolean {
  const first = bytes.indexOf(blankLine)
  return first >= 0 && bytes.includes(blankLine, first + blankLine.length)
}

/** Reads the bytes of a connection in place of node:http, and passes them slice by slice to the parser of node:http. */
export function paceRequests(socket: Socket, state: ConnectionState, turns: PacedTurns): void {
  const parse = parserOf(socket)
  let isWaiting = false
  const cutter = openCutter(state)

  function onData(chunk: Buffer): void {
    let remaining = chunk
    while (remaining.length > 0 && !state.isStopped) {
      if (isWaiting || isAwaitingResponse(state.latestResponse)) break
      const size = cutter.nextSize(remaining)
      parse(remaining.subarray(0, size))
      cutter.onParsed()
      remaining = remaining.subarray(size)
      if (state.latestResponse?.req.complete) break
    }
    if (remaining.length > 0 && !state.isStopped) putBack(remaining)
  }

  /** Pauses the socket and puts bytes back. If node:http resumes it too early, `onData` puts the bytes back again. */
  function putBack(bytes: Buffer): void {
    socket.pause()
    socket.unshift(bytes)
    if (isWaiting) return
    isWaiting = true
    const wake = () =>
      turns.add(() => {
        isWaiting = false
        socket.resume()
      })
    if (isUnsent(state.latestResponse)) state.latestResponse.once('close', wake)
    else wake()
  }

  state.isPaced = true
  // Adding a listener ends the native reading of node:http.
  socket.on('data', onData)
  socket.removeListener('data', parse)
}

/** The listener of node:http, which parses synchronously. */
function parserOf(socket: Socket): (bytes: Buffer) => void {
  const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[]
  if (!parse) throw new Error('node:http has no listener for data')
  return parse
}

const isAwaitingResponse = (response: ServerResponse | undefined) =>
  isUnsent(response) && response.req.complete

/** Decides how many bytes are parsed at once: a head, or a part of a body. */
function openCutter(state: ConnectionState) {
  /** Number of bytes of the current body that are not parsed yet; 0 if it is not known. */
  let unparsedBodyBytes = 0
  /** Whether the slice ends exactly after a head, so that the whole body is still unparsed. */
  let sliceEndsAfterHead = false
  /** The latest response before the slice was parsed. */
  let responseBefore: ServerResponse | undefined

  return {
    nextSize(bytes: Buffer): number {
      responseBefore = state.latestResponse
      const isInBody = responseBefore !== undefined && !responseBefore.req.complete
      const end = isInBody
        ? endOfBlankLine(bytes, blankLinesPerSlice)
        : (endOfLeadingBreak(bytes) ?? endOfBlankLine(bytes, 1))
      sliceEndsAfterHead = !isInBody && end !== undefined
      const size =
        isInBody && unparsedBodyBytes > 0 ? Math.min(unparsedBodyBytes, bytes.length) : (end ?? bytes.length)
      unparsedBodyBytes = Math.max(0, unparsedBodyBytes - size)
      return size
    },
    onParsed(): void {
      if (state.latestResponse === responseBefore) return
      unparsedBodyBytes = sliceEndsAfterHead
        ? Number(state.latestResponse?.req.headers['content-length'] ?? 0)
        : 0
    },
  }
}

/**
 * The index after a line break at the start; undefined if there is none. It may be the rest of the blank line after a
 * head, if a read has ended inside that line, so the bytes that follow may belong to a body.
 */
function endOfLeadingBreak(bytes: Buffer): number | undefined {
  if (bytes[0] === lineFeed) return 1
  return bytes[0] === carriageReturn && bytes[1] === lineFeed ? 2 : undefined
}

/** The index after the nth blank line; undefined if there are fewer. */
function endOfBlankLine(bytes: Buffer, n: number): number | undefined {
  let end = 0
  for (let found = 0; found < n; found++) {
    const at = bytes.indexOf(blankLine, end)
    if (at < 0) return undefined
    end = at + blankLine.length
  }
  return end
}
