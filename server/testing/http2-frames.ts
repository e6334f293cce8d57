// HTTP/2 frames as raw bytes, so that tests can send what no client library sends (RFC 9113, RFC 7541).

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4, goAway: 7, continuation: 9 } as const
export const flags = { endStream: 1, endHeaders: 4, ack: 1 } as const

export function frame(type: number, flag: number, stream: number, payload: Uint8Array = Buffer.of()): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flag
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

export const settings = frame(frameTypes.settings, 0, 0)
export const settingsAck = frame(frameTypes.settings, flags.ack, 0)

export function reset(stream: number, code: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(code)
  return frame(frameTypes.reset, 0, stream, payload)
}

const maxFrameBytes = 16_384

/** A header block, split into as many frames as it needs. */
export function headers(stream: number, block: Buffer, flag = 0): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at === 0 || at < block.length; at += maxFrameBytes) {
    const isLast = at + maxFrameBytes >= block.length
    const type = at === 0 ? frameTypes.headers : frameTypes.continuation
    const frameFlags = (at === 0 ? flag : 0) | (isLast ? flags.endHeaders : 0)
    parts.push(frame(type, frameFlags, stream, block.subarray(at, at + maxFrameBytes)))
  }
  return Buffer.concat(parts)
}

/** The first byte of a header field, which selects its representation (RFC 7541 section 6). */
const [literal, indexedLiteral, indexed] = [0x00, 0x40, 0x80]

/** The header block of a gRPC call. */
export const callBlock = (path: string, ...extraFields: [string, string][]) =>
  Buffer.concat(
    [
      ...[
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', path],
        [':authority', 'a'],
        ['content-type', 'application/grpc'],
        ['te', 'trailers'],
      ],
      ...extraFields,
    ].map(([name = '', value = '']) => field(literal, name, value)),
  )

/** A field that the receiver stores in its dynamic table. The newest one has the index 62. */
export const storedField = (name: string, value: string) => field(indexedLiteral, name, value)
/** `count` references to the stored field, of one byte each. */
export const references = (count: number) => Buffer.alloc(count, indexed | 62)

const field = (representation: number, name: string, value: string) =>
  Buffer.concat([Buffer.of(representation), text(name), text(value)])

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([integer(bytes.length), bytes])
}

/** An integer with a prefix of 7 bits (RFC 7541 section 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.of(value)
  const bytes = [127]
  let remaining = value - 127
  for (; remaining >= 128; remaining = Math.floor(remaining / 128)) bytes.push((remaining % 128) | 128)
  return Buffer.from([...bytes, remaining])
}
