// Limits the memory of bodies that are read as a whole, such as manifests.
import { tooManyRequests } from '../aip/errors.ts'
import { networksOf } from '../wire/client-network.ts'

export type BodyBudget = {
  /** Throws if there is no room. Returns a function that gives the room back. */
  reserve(address: string, bytes: number): () => void
}

/** Smaller bodies do not count: the number of connections limits them, and nearly all manifests are smaller. */
export const uncountedBytes = 64 * 1024
const retrySeconds = 5

/** Limits in bytes, for one network (an IPv4 address or an IPv6 /64) and in total. */
export function openBodyBudget({
  network: perNetwork,
  total,
}: {
  network: number
  total: number
}): BodyBudget {
  /** Networks without a body are not in it. */
  const reserved = new Map<string, number>()
  let sum = 0
  return {
    reserve(address, bytes) {
      if (bytes <= uncountedBytes) return () => {}
      const [, , network] = networksOf(address)
      const own = reserved.get(network) ?? 0
      if (own + bytes > perNetwork || sum + bytes > total)
        throw tooManyRequests('too many large manifests are being pushed; try again later', retrySeconds)
      reserved.set(network, own + bytes)
      sum += bytes
      return () => {
        sum -= bytes
        const left = (reserved.get(network) ?? 0) - bytes
        if (left > 0) reserved.set(network, left)
        else reserved.delete(network)
      }
    },
  }
}
