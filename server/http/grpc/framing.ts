// Messages in the bodies of gRPC calls: a flag for compression, the size in four bytes, and the bytes of the message.
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { malformed, notOneMessage, tooLarge, unknownCompression } from '../../aip/errors.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'

/** The bytes before a message. The body of a unary call is one message. */
export const headBytes = 5

const decompressors = { gzip: promisify(gunzip), deflate: promisify(inflate) }
/** The encodings that clients may use, in the form of the header grpc-accept-encoding. */
export const acceptedEncodings = ['identity', ...Object.keys(decompressors)].join(',')

export function frameOf(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(headBytes + message.length)
  framed[0] = 0
  framed.writeUInt32BE(message.length, 1)
  framed.set(message, headBytes)
  return framed
}

/**
 * Reads the only message of a body. `maxBytes` is its largest size after decompression, and `encoding` the header
 * grpc-encoding of the request.
 */
export function messageOf(body: Buffer, maxBytes: number, encoding = 'identity'): MaybePromise<Buffer> {
  if (body.length < headBytes) throw notOneMessage()
  const size = body.readUInt32BE(1)
  if (size > maxBytes) throw messageTooLong(maxBytes)
  if (body.length !== headBytes + size) throw notOneMessage()
  const message = body.subarray(headBytes)
  return body[0] === 0 ? message : decompress(message, maxBytes, encoding)
}

async function decompress(message: Buffer, maxBytes: number, encoding: string): Promise<Buffer> {
  if (encoding === 'identity') throw unreadable()
  if (!isKnownEncoding(encoding)) throw unknownCompression(encoding)
  return decompressors[encoding](message, { maxOutputLength: maxBytes }).catch((error: Error) => {
    throw 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE' ? messageTooLong(maxBytes) : unreadable()
  })
}

const isKnownEncoding = (encoding: string): encoding is keyof typeof decompressors =>
  Object.hasOwn(decompressors, encoding)

const unreadable = () => malformed('the request cannot be read')
export const messageTooLong = (maxBytes: number) =>
  tooLarge(`a message must be at most ${maxBytes} bytes`, 413)
