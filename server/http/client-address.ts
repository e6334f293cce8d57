// The address of the client: that of the connection, unless a trusted proxy reports another one.
import { BlockList, isIP, isIPv6 } from 'node:net'

export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string

/** Returns a function that tests whether an address is that of a trusted proxy. */
export function proxyTest(trustedProxies: readonly string[]): (address: string) => boolean {
  const proxies = blockListOf(trustedProxies)
  return (address) => {
    const bare = bareAddress(address)
    return proxies.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4')
  }
}

/**
 * `trustedProxies` are addresses and networks such as 10.0.0.0/8. `onUntrusted` is called once, with the first peer
 * that has a known address and sends X-Forwarded-For but is not a trusted proxy. If that peer is in fact a proxy of the
 * operator, all of its clients seem to have the same address, so the operator should know.
 */
export function clientAddress(
  trustedProxies: readonly string[],
  onUntrusted: (peer: string) => void = () => {},
): ClientAddress {
  let hasReported = false
  function report(peer: string): void {
    hasReported = true
    onUntrusted(peer)
  }
  if (trustedProxies.length === 0)
    return (peer = '', forwardedFor = '') => {
      if (forwardedFor !== '' && !hasReported && isIP(bareAddress(peer))) report(peer)
      return peer.startsWith('::ffff:') ? bareAddress(peer) : peer
    }
  const isProxy = proxyTest(trustedProxies)
  return (peer = '', forwardedFor = '') => {
    const sender = bareAddress(peer)
    if (forwardedFor === '') return sender
    // The address is unknown if the client has reset the connection. An unknown address is not trusted as a proxy.
    if (!isIP(sender)) return sender
    if (isProxy(sender)) return forwardedClient(forwardedFor, sender, isProxy)
    if (!hasReported) report(peer)
    return sender
  }
}

/**
 * Each proxy appends the address that called it, so the list is read from its end. The client is the last address in
 * the list that is not a trusted proxy, because this client may have forged the entries before its own. Entries before
 * one that is not an address may be forged too, and are ignored.
 */
function forwardedClient(
  forwardedFor: string,
  sender: string,
  isProxy: (address: string) => boolean,
): string {
  const hops = forwardedFor.split(',').map((hop) => bareAddress(hop.trim()))
  let client = sender
  for (const hop of hops.reverse()) {
    if (!isIP(hop)) return client
    client = hop
    if (!isProxy(hop)) return client
  }
  return client
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

/** Removes port and brackets, and converts an IPv4-mapped IPv6 address to IPv4. */
const bareAddress = (address: string) =>
  address
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/i, '')
