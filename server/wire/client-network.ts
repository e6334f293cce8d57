import { isIPv4, isIPv6 } from 'node:net'

/**
 * The network of a client: its IPv4 address, or the first 64 bits of its IPv6 address, since a client usually controls
 * all addresses of its /64. An IPv4 address may be written as IPv6 (`::ffff:…`). Other text is returned as it is.
 */
export function networkOf(address: string): string {
  const plain = address.replace(/^\[|\]$/g, '')
  if (!isIPv6(plain)) return plain
  const groups = groupsOf(plain)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped) return groups.slice(6).flatMap(bytesOf).join('.')
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')
}

/**
 * Three networks that a client is in, widest first. IPv4: the first 16 bits, the first 24 bits and the whole address.
 * IPv6: the first 32 bits (about one provider), the first 48 bits (about one customer of it) and the first 64 bits.
 */
export function networksOf(address: string): Networks {
  const network = networkOf(address)
  const separator = isIPv4(network) ? '.' : ':'
  const parts = network.split(separator)
  const first = (count: number) => parts.slice(0, count).join(separator)
  return [first(2), first(3), network]
}

export type Networks = [wide: string, middle: string, narrow: string]

/** The eight numbers of an IPv6 address: `::` stands for as many zeros as are missing, wherever it is (RFC 4291, 2.2). */
function groupsOf(address: string): number[] {
  const [withoutZone = ''] = address.split('%')
  const [head = [], tail] = withoutZone.split('::').map(partsOf)
  if (!tail) return head
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

/** The last part may be an IPv4 address, which stands for two groups. */
const partsOf = (text: string): number[] =>
  text
    .split(':')
    .filter(Boolean)
    .flatMap((part) => {
      if (!part.includes('.')) return [Number.parseInt(part, 16)]
      const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
      return [a * 256 + b, c * 256 + d]
    })

const bytesOf = (group: number) => [group >> 8, group & 255]
