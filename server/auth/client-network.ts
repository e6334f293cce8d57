import { isIPv6 } from 'node:net'

/**
 * The network of a client: its IPv4 address, or the first 64 bits of its IPv6 address, since a client usually controls
 * all addresses of its /64. An IPv4 address may be written as IPv6 (`::ffff:…`). Other text is returned as it is.
 */
export function networkOf(address: string): string {
  const plain = address.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '')
  if (!isIPv6(plain)) return plain
  const [head = ''] = plain.split('::')
  const groups = head.split(':').filter(Boolean)
  return [...groups, '0', '0', '0', '0'].slice(0, 4).join(':')
}
