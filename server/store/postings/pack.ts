// Converts numbers to bytes and back. Each number becomes a 64-bit floating-point number, little-endian.
import { endianness } from 'node:os'

const isBigEndian = endianness() === 'BE'
const bytesPerNumber = 8

export function pack(numbers: readonly number[]): Uint8Array {
  const bytes = Buffer.from(Float64Array.from(numbers).buffer)
  return isBigEndian ? bytes.swap64() : bytes
}

/** Copies the bytes only if they are not aligned, or if their order has to be reversed. */
export function unpack(bytes: Uint8Array): Float64Array {
  const isReadInPlace = !isBigEndian && bytes.byteOffset % bytesPerNumber === 0
  const { buffer, byteOffset } = isReadInPlace ? bytes : Uint8Array.from(bytes)
  if (isBigEndian) Buffer.from(buffer).swap64()
  return new Float64Array(buffer, byteOffset, bytes.length / bytesPerNumber)
}
