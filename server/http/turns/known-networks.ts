// The networks (IPv4 /16, IPv6 /32) in which a client has proven who it is: by an access token, or by a token that it
// has exchanged. Calls whose caller is not known yet, such as exchanges, get a larger share of the
// time if they come from such a network. So attackers without an account cannot crowd these calls
// out by using many other networks.
import { BoundedMap } from '../../bounded-map.ts'
import { networksOf } from '../../wire/client-network.ts'

export type KnownNetworks = {
  /** Must be called only for an address at which a token was verified. */
  add(address: string): void
  has(wideNetwork: string): boolean
}

/** How many networks and addresses are remembered. */
const maxEntries = 10_000

export function openKnownNetworks(): KnownNetworks {
  const networks = new BoundedMap<string, true>(maxEntries)
  /** The addresses that were added, because computing the network of an address takes longer than a look-up. */
  const addresses = new BoundedMap<string, true>(maxEntries)
  return {
    add(address) {
      if (addresses.has(address)) return
      addresses.set(address, true)
      networks.set(networksOf(address)[0], true)
    },
    has: (wideNetwork) => networks.has(wideNetwork),
  }
}
