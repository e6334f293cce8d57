// Where a call comes from: the connection tells, unless it is that of a proxy which the operator trusts to tell.
import { BlockList, isIP, isIPv6 } from 'node:net'

export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string

/** `trusted` are addresses and networks such as 10.0.0.0/8. */
export function clientAddress(trusted: readonly string[]): ClientAddress {
  if (trusted.length === 0) return (peer = '') => peer
  const proxies = new BlockList()
  for (const one of trusted) {
    const [address = '', bits] = one.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) proxies.addAddress(address, family)
    else proxies.addSubnet(address, Number(bits), family)
  }
  const isProxy = (address: string) => proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return (peer = '', forwardedFor = '') => {
    // Each proxy adds whom it was called by; what stands before the first that is no proxy of ours may be made up.
    const hops = [...forwardedFor.split(',').map((hop) => plain(hop.trim())), plain(peer)].filter(isIP)
    return hops.findLast((hop) => !isProxy(hop)) ?? hops[0] ?? peer
  }
}

/** Without port and brackets, and one of IPv4 as such. */
const plain = (address: string) =>
  address
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/i, '')
