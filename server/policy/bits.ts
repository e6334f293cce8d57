// The encoding of sets of capabilities in the rows of roles, which is that of tokens of the public
// platform: the number of bits as an 8-byte integer, then 64-bit words, all big-endian. Bit i is bit i
// mod 64 of word i / 64. The text is base64url with padding.
import { capabilityOf } from './capabilities.ts'

export type Bits = ReadonlySet<number>

const minBits = 50

export function encodeBits(capabilities: Iterable<number>): string {
  const bits = [...capabilities].flatMap((number) => capabilityOf(number)?.bit ?? [])
  const length = Math.max(minBits, ...bits.map((bit) => bit + 1))
  const words = new BigUint64Array(Math.ceil(length / 64))
  for (const bit of bits) words[bit >> 6] = (words[bit >> 6] ?? 0n) | (1n << BigInt(bit & 63))
  const bytes = Buffer.alloc(8 + words.length * 8)
  bytes.writeBigUInt64BE(BigInt(length))
  words.forEach((word, at) => {
    bytes.writeBigUInt64BE(word, 8 + at * 8)
  })
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}

/** The positions of the bits that are set. */
export function decodeBits(text: string): Bits {
  const bytes = Buffer.from(text, 'base64')
  const bits = new Set<number>()
  for (let at = 8; at + 8 <= bytes.length; at += 8) {
    const word = bytes.readBigUInt64BE(at)
    for (let bit = 0; bit < 64; bit++) if ((word >> BigInt(bit)) & 1n) bits.add(((at - 8) / 8) * 64 + bit)
  }
  return bits
}
