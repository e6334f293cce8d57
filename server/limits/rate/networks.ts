import { BoundedMap } from '../../bounded-map.ts'
import { networkOf } from '../../wire/client-network.ts'

/** Addresses whose network is remembered. If a flood of addresses evicts one, its network is computed again. */
const maxAddresses = 10_000

/**
 * Returns a function that maps an address to its network. The network is empty if no limit applies:
 * the address is unknown (empty), or is that of a proxy, which all clients of the proxy share.
 */
export function openNetworks(isProxy: (address: string) => boolean): (address: string) => string {
  const networks = new BoundedMap<string, string>(maxAddresses)
  return (address) => {
    const known = networks.get(address)
    if (known !== undefined) return known
    const network = address === '' || isProxy(address) ? '' : networkOf(address)
    networks.set(address, network)
    return network
  }
}
