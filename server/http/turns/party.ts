// The party to which the time of a call is charged, before the call is authenticated.
import type { IncomingHttpHeaders } from 'node:http'
import { rootOf } from '../../aip/uid.ts'
import type { Caller } from '../../wire/caller.ts'
import { networksOf } from '../../wire/client-network.ts'
import type { ClientAddress } from '../client-address.ts'
import { forwardedFor } from '../door.ts'
import type { KnownNetworks } from './known-networks.ts'
import type { Party } from './waiting-calls.ts'

export type PartyOptions = {
  addressOf: ClientAddress
  /** The caller of an Authorization header that was verified before. */
  findCaller(authorization: string): Pick<Caller, 'identity'> | undefined
  knownNetworks: KnownNetworks
}

/**
 * Organizations, people and known networks get eight times the time of a network in which nobody
 * has proven who they are.
 */
const knownWeight = 8

export const partyOfCaller = (identity: string): Party => ({
  group: rootOf(identity),
  member: identity,
  weight: knownWeight,
})

/**
 * The organization of the caller, or the person, if the token was verified in an earlier call.
 * Otherwise the network: a client can invent any number of tokens, but has few networks.
 */
export function partyOf(
  { addressOf, findCaller, knownNetworks }: PartyOptions,
  headers: IncomingHttpHeaders,
  peer: string | undefined,
): Party {
  const { authorization } = headers
  const caller = authorization === undefined ? undefined : findCaller(authorization)
  const address = addressOf(peer, forwardedFor(headers))
  if (!caller) return partyOfAddress(knownNetworks, address)
  knownNetworks.add(address)
  return partyOfCaller(caller.identity)
}

export function partyOfAddress(knownNetworks: KnownNetworks, address: string): Party {
  const [wide, , narrow] = networksOf(address)
  return { group: wide, member: narrow, weight: knownNetworks.has(wide) ? knownWeight : 1 }
}
