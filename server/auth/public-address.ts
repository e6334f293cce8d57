// Which addresses belong to the public internet. Whatever else a name leads to (this machine, its network, the
// metadata service of a cloud) is not fetched from on behalf of a caller.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** IANA's special-purpose registries, and multicast. */
const reserved4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
]
/** Of what is routed at all (2000::/3): Teredo, ORCHID, documentation, 6to4, segment routing and the like. */
const reserved6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const blocked = new BlockList()
for (const range of reserved4) add(range, 'ipv4')
for (const range of reserved6) add(range, 'ipv6')
const routed = new BlockList()
routed.addSubnet('2000::', 3, 'ipv6')

function add(range: string, family: 'ipv4' | 'ipv6'): void {
  const [network = '', prefix] = range.split('/')
  blocked.addSubnet(network, Number(prefix), family)
}

export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !blocked.check(address, 'ipv4')
  // Addresses that carry one of IPv4 inside them are not routed as such, and so never taken.
  return isIPv6(address) && routed.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
}
