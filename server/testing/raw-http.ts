// An HTTP/1.1 client that sends exactly the given bytes, so that tests can send malformed requests.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { testTls } from './tls.ts'

export type RawResponse = {
  version: string
  status: number
  headers: Headers
  body: string
  json(): { code: number; message: string; details: Record<string, unknown>[] }
}

export type RawClient = {
  socket: Socket
  send(bytes: string | Uint8Array): void
  /**
   * The next response; rejects if the connection ends before the response is complete. `isHead`: whether the request was
   * HEAD, so that the response has no body.
   */
  response(isHead?: boolean): Promise<RawResponse>
  /** The bytes after the last complete response, up to the end of the connection. */
  remainingBytes(): Promise<Buffer>
  close(): void
}

export async function rawClient(port: number, isTls = false): Promise<RawClient> {
  const address = { port, host: '127.0.0.1', allowHalfOpen: true }
  const socket = isTls
    ? connectTls({ ...address, ca: testTls.cert, ALPNProtocols: ['http/1.1'] })
    : connect(address)
  await once(socket, isTls ? 'secureConnect' : 'connect')
  let unread: Buffer = Buffer.alloc(0)
  let isEnded = false
  let wake = () => {}
  socket.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk])
    wake()
  })
  for (const event of ['end', 'error', 'close']) {
    socket.on(event, () => {
      isEnded = true
      wake()
    })
  }
  const nextEvent = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })

  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    async response(isHead = false) {
      for (;;) {
        const parsed = parse(unread, isHead)
        if (parsed) {
          unread = unread.subarray(parsed.size)
          return parsed.response
        }
        if (isEnded)
          throw new Error(`the connection ended after ${JSON.stringify(unread.toString('latin1'))}`)
        await nextEvent()
      }
    },
    async remainingBytes() {
      while (!isEnded) await nextEvent()
      return unread
    },
    close: () => void socket.destroy(),
  }
}

function parse(bytes: Buffer, isHead: boolean): { response: RawResponse; size: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [start = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const [version = '', status = ''] = start.split(' ')
  const headers = new Headers(lines.map((line) => splitAt(line, line.indexOf(':'))))
  const hasBody = !isHead && Number(status) >= 200
  const size = headEnd + 4 + (hasBody ? Number(headers.get('content-length') ?? 0) : 0)
  if (bytes.length < size) return undefined
  const body = bytes.toString('utf8', headEnd + 4, size)
  return {
    size,
    response: { version, status: Number(status), headers, body, json: () => JSON.parse(body) },
  }
}

const splitAt = (line: string, at: number): [string, string] => [line.slice(0, at), line.slice(at + 1).trim()]
