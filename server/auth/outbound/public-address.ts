// Decides whether an address is on the public internet. Requests to hosts that the operator does not trust are sent
// only to such addresses: never to this machine, its network, or the metadata service of a cloud.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** The special-purpose ranges of IANA that are not on the public internet, and multicast. */
const reserved4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
]
/** Reserved parts of the global unicast range 2000::/3: Teredo, ORCHID, documentation, 6to4 and the like. */
const reserved6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const blocked = new BlockList()
for (const range of reserved4) block(range, 'ipv4')
for (const range of reserved6) block(range, 'ipv6')
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

function block(range: string, family: 'ipv4' | 'ipv6'): void {
  const [network = '', prefix] = range.split('/')
  blocked.addSubnet(network, Number(prefix), family)
}

export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !blocked.check(address, 'ipv4')
  // IPv6 forms of IPv4 addresses are outside of 2000::/3 and therefore refused.
  return isIPv6(address) && globalUnicast.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
}
