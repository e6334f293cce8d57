// The address of the client: that of the connection, unless a trusted proxy reports another one.
import { BlockList, isIP, isIPv6 } from 'node:net'

export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string

/** `trustedProxies` are addresses and networks such as 10.0.0.0/8. */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  if (trustedProxies.length === 0) return (peer = '') => peer
  const proxies = blockListOf(trustedProxies)
  const isProxy = (address: string) => proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return (peer = '', forwardedFor = '') => {
    // Each proxy appends the address that called it. Entries before the last untrusted address may be forged.
    const hops = [...forwardedFor.split(',').map((hop) => bareAddress(hop.trim())), bareAddress(peer)]
    const addresses = hops.filter(isIP)
    return addresses.findLast((address) => !isProxy(address)) ?? addresses[0] ?? peer
  }
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** Without port and brackets; an IPv4 address mapped into IPv6 as IPv4. */
const bareAddress = (address: string) =>
  address
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/i, '')
