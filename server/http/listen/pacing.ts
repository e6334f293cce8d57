// Parses the pipelined requests of a connection one at a time: the next one in a later turn of the event loop, after the
// response to the one before is sent. Otherwise a single read of 64 KB would start thousands of requests at once, and
// their responses would wait in memory for a client that may never read them.
//
// node:http reads sockets in native code, 64 KB at a time, which is faster for a client that waits for its response. So
// only connections that pipeline are paced.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionState } from './connection-state.ts'

/** Ends the head of every request. A chunked body ends with it, too. */
const blankLine = '\r\n\r\n'

/** How many blank lines inside a chunked body are parsed at once. At most so many requests may follow the body. */
const blankLinesPerSlice = 8

/** Whether these first bytes of a connection may contain more than one request. */
export function mayBePipelined(bytes: Buffer): boolean {
  const first = bytes.indexOf(blankLine)
  return first >= 0 && bytes.includes(blankLine, first + blankLine.length)
}

/** Takes the bytes of a connection from node:http, and passes them on slice by slice. */
export function paceRequests(socket: Socket, state: ConnectionState): void {
  const parse = parserOf(socket)
  let isWaiting = false
  const cut = openCutter(state)

  function onData(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0 && !state.isStopped) {
      if (isWaiting || isAwaitingResponse(state.latest)) break
      const size = cut.nextSize(rest)
      parse(rest.subarray(0, size))
      cut.onParsed()
      rest = rest.subarray(size)
      if (state.latest?.req.complete) break
    }
    if (rest.length > 0 && !state.isStopped) hold(rest)
  }

  /** Puts bytes back and stops reading. node:http may resume the socket earlier; the bytes are then held again. */
  function hold(rest: Buffer): void {
    socket.pause()
    socket.unshift(rest)
    if (isWaiting) return
    isWaiting = true
    const wake = () =>
      setImmediate(() => {
        isWaiting = false
        socket.resume()
      })
    if (isUnsent(state.latest)) state.latest.once('close', wake)
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

const isUnsent = (latest: ServerResponse | undefined): latest is ServerResponse =>
  latest !== undefined && !latest.writableFinished && !latest.closed

const isAwaitingResponse = (latest: ServerResponse | undefined) => isUnsent(latest) && latest.req.complete

/** Decides how many bytes are parsed at once: a head, or a part of a body. */
function openCutter(state: ConnectionState) {
  /** Bytes of the current body that are not parsed yet; 0 if their number is not known. */
  let bodyBytes = 0
  let endsWithHead = false
  let before: ServerResponse | undefined

  return {
    nextSize(bytes: Buffer): number {
      before = state.latest
      const isInBody = before !== undefined && !before.req.complete
      const end = endOfBlankLine(bytes, isInBody ? blankLinesPerSlice : 1)
      endsWithHead = !isInBody && end !== undefined
      const size = isInBody && bodyBytes > 0 ? Math.min(bodyBytes, bytes.length) : (end ?? bytes.length)
      bodyBytes = Math.max(0, bodyBytes - size)
      return size
    },
    onParsed(): void {
      if (state.latest === before) return
      bodyBytes = endsWithHead ? Number(state.latest?.req.headers['content-length'] ?? 0) : 0
    },
  }
}

/** The index after the nth blank line; undefined if there are fewer. */
function endOfBlankLine(bytes: Buffer, count: number): number | undefined {
  let end = 0
  for (let found = 0; found < count; found++) {
    const at = bytes.indexOf(blankLine, end)
    if (at < 0) return undefined
    end = at + blankLine.length
  }
  return end
}
