// The party to which the time of a call is charged, before the call is authenticated.
import type { IncomingHttpHeaders } from 'node:http'
import { knownWeight, partyOfCaller } from '../../fair-queueing/parties.ts'
import type { Party } from '../../fair-queueing/waiting-calls.ts'
import type { Caller } from '../../wire/caller.ts'
import { networksOf } from '../../wire/client-network.ts'
import type { ClientAddress } from '../client-address.ts'
import { forwardedFor } from '../door.ts'
import type { KnownNetworks } from './known-networks.ts'

export type PartyOptions = {
  addressOf: ClientAddress
  /** The caller of an Authorization header that was verified before. */
  findCaller(authorization: string): Pick<Caller, 'identity'> | undefined
  knownNetworks: KnownNetworks
}

/** The party of a request that has not been read yet. */
export const partyOf = (
  options: PartyOptions,
  headers: IncomingHttpHeaders,
  peer: string | undefined,
): Party => partyOfCall(options, headers.authorization, options.addressOf(peer, forwardedFor(headers)))

/**
 * The organization of the caller, or the person, if the token was verified in an earlier call.
 * Otherwise the network: a client can invent any number of tokens, but has few networks.
 */
export function partyOfCall(
  { findCaller, knownNetworks }: Pick<PartyOptions, 'findCaller' | 'knownNetworks'>,
  authorization: string | undefined,
  address: string,
): Party {
  const caller = authorization === undefined ? undefined : findCaller(authorization)
  if (!caller) return partyOfAddress(knownNetworks, address)
  knownNetworks.add(address)
  return partyOfCaller(caller.identity)
}

export function partyOfAddress(knownNetworks: KnownNetworks, address: string): Party {
  const [wide, , narrow] = networksOf(address)
  return { group: wide, member: narrow, weight: knownNetworks.has(wide) ? knownWeight : 1 }
}
