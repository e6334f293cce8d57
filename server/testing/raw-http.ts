// A client that sends exactly the bytes it is told to, as no proper HTTP client would.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { testTls } from './tls.ts'

export type RawAnswer = {
  version: string
  status: number
  headers: Headers
  body: string
  json(): { code: number; message: string; details: Record<string, unknown>[] }
}

export type RawClient = {
  socket: Socket
  send(bytes: string | Uint8Array): void
  /** The next answer; fails if the connection ends before it is whole. */
  answer(isHead?: boolean): Promise<RawAnswer>
  /** Whatever comes until the server ends the connection, and did not become an answer. */
  rest(): Promise<Buffer>
  close(): void
}

export async function rawClient(port: number, isTls = false): Promise<RawClient> {
  const place = { port, host: '127.0.0.1', allowHalfOpen: true }
  const socket = isTls
    ? connectTls({ ...place, ca: testTls.cert, ALPNProtocols: ['http/1.1'] })
    : connect(place)
  await once(socket, isTls ? 'secureConnect' : 'connect')
  let seen: Buffer = Buffer.alloc(0)
  let isOver = false
  let wake = () => {}
  const change = () => wake()
  socket.on('data', (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk])
    change()
  })
  for (const event of ['end', 'error', 'close']) {
    socket.on(event, () => {
      isOver = true
      change()
    })
  }
  const more = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })

  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    async answer(isHead = false) {
      for (;;) {
        const parsed = parse(seen, isHead)
        if (parsed) {
          seen = seen.subarray(parsed.size)
          return parsed.answer
        }
        if (isOver) throw new Error(`the connection ended after ${JSON.stringify(seen.toString('latin1'))}`)
        await more()
      }
    },
    async rest() {
      while (!isOver) await more()
      return seen
    },
    close: () => void socket.destroy(),
  }
}

function parse(bytes: Buffer, isHead: boolean): { answer: RawAnswer; size: number } | undefined {
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
    answer: { version, status: Number(status), headers, body, json: () => JSON.parse(body) },
  }
}

const splitAt = (line: string, at: number): [string, string] => [line.slice(0, at), line.slice(at + 1).trim()]
