// Limits the bytes of large responses that wait until their clients read them. Without a limit, a few clients that ask
// for long lists and do not read them would use up the memory. A response counts for each of its owners: the networks of
// its client and, if the caller is authenticated, the caller and its organization. Each owner may use only a part of the
// total, so that no organization can use up all of it with many identities.
import { tooManyRequests } from '../aip/errors.ts'
import { rootOf } from '../aip/uid.ts'
import { networksOf } from '../wire/client-network.ts'

export type UnsentBudget = {
  /** Counts bytes for a client until the returned function is called. Throws if there would be too many. */
  reserve(client: UnsentClient, bytes: number): () => void
  /**
   * Like `reserve`, but never throws. For responses to writes: an error would wrongly tell the client that the change
   * was not made. `requireRoom` is called before the write, so a client exceeds its limits only by writes that run
   * together.
   */
  count(client: UnsentClient, bytes: number): () => void
  /** Throws if the client has used up one of its own limits. The totals of all clients do not matter. */
  requireRoom(client: UnsentClient): void
}

/** For replies that are not sent. */
export const noUnsentBudget: UnsentBudget = {
  reserve: () => () => {},
  count: () => () => {},
  requireRoom() {},
}

/** The identity is empty if the client is anonymous. */
export type UnsentClient = { identity: string; address: string }

/** In bytes. Limits of networks are for the three networks of a client, widest first. */
export type UnsentLimits = {
  perCaller: number
  perOrganization: number
  perNetwork: readonly [wide: number, middle: number, narrow: number]
  perAnonymousNetwork: readonly [wide: number, middle: number, narrow: number]
  /** All anonymous clients together. */
  anonymous: number
  total: number
}

export type UnsentBudgetOptions = {
  limits?: Partial<UnsentLimits> | undefined
  /** Whether an address is that of a trusted proxy. Its networks have no limit, since all of its clients share them. */
  isProxy?(address: string): boolean
}

const mebibyte = 1024 * 1024
const defaultLimits: UnsentLimits = {
  // Enough for a v1 list of maximal size and some smaller responses.
  perCaller: 128 * mebibyte,
  perOrganization: 160 * mebibyte,
  perNetwork: [256 * mebibyte, 224 * mebibyte, 192 * mebibyte],
  // The largest response to an anonymous client is a manifest of 8 MiB.
  perAnonymousNetwork: [128 * mebibyte, 64 * mebibyte, 32 * mebibyte],
  anonymous: 256 * mebibyte,
  total: 512 * mebibyte,
}
const retryAfterSeconds = 5

/** `key` is unique among the owners of all kinds. `whose` is part of the error message. */
type Owner = { key: string; limit: number; whose: string }

export function openUnsentBudget(options: UnsentBudgetOptions = {}): UnsentBudget {
  const limits = { ...defaultLimits, ...options.limits }
  const { isProxy = () => false } = options
  /** Owners without bytes have no entry. */
  const bytesOf = new Map<string, number>()

  function add(owners: readonly Owner[], bytes: number): void {
    for (const { key } of owners) {
      const sum = (bytesOf.get(key) ?? 0) + bytes
      if (sum === 0) bytesOf.delete(key)
      else bytesOf.set(key, sum)
    }
  }

  function requireWithinLimits(owners: readonly Owner[], bytes: number): void {
    const exceeded = owners.find(({ key, limit }) => (bytesOf.get(key) ?? 0) + bytes > limit)
    if (exceeded) throw tooManyRequests(messageOf(exceeded), retryAfterSeconds)
  }

  function countFor(owners: readonly Owner[], bytes: number): () => void {
    add(owners, bytes)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      add(owners, -bytes)
    }
  }

  return {
    reserve(client, bytes) {
      const owners = ownersOf(limits, client, isProxy)
      requireWithinLimits(owners, bytes)
      return countFor(owners, bytes)
    },
    count: (client, bytes) => countFor(ownersOf(limits, client, isProxy), bytes),
    requireRoom(client) {
      if (bytesOf.size === 0) return
      const own = ownersOf(limits, client, isProxy).filter(({ whose }) => whose !== '')
      requireWithinLimits(own, 1)
    },
  }
}

const messageOf = ({ whose }: Owner) =>
  whose === ''
    ? 'too many responses wait to be read; try again later'
    : `too many ${whose} wait to be read; read them first, or ask for smaller pages`

/** The total is the last owner: a client that has exceeded a limit of its own is told so. */
function ownersOf(
  limits: UnsentLimits,
  { identity, address }: UnsentClient,
  isProxy: (address: string) => boolean,
): Owner[] {
  const isAnonymous = identity === ''
  const byNetwork = isAnonymous ? limits.perAnonymousNetwork : limits.perNetwork
  const networks = address === '' || isProxy(address) ? [] : networksOf(address)
  const owners = networks.map((network, index) => ({
    key: `${isAnonymous ? 'anonymous network' : 'network'} ${index} ${network}`,
    limit: byNetwork[index] ?? 0,
    whose: 'responses to your network',
  }))
  const total = { key: 'total', limit: limits.total, whose: '' }
  if (isAnonymous) return [...owners, { key: 'anonymous', limit: limits.anonymous, whose: '' }, total]
  return [
    { key: `caller ${identity}`, limit: limits.perCaller, whose: 'of your responses' },
    {
      key: `organization ${rootOf(identity)}`,
      limit: limits.perOrganization,
      whose: 'responses to your organization',
    },
    ...owners,
    total,
  ]
}
