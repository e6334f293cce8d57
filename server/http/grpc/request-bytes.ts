// Counts the bytes of the requests that are kept in memory until they are complete: for each connection, for each owner
// and in total. The owners of a request are the networks of its client and, once its token is verified, its identity.
// Each owner may use only a part of the total, so no client can use up all of it.
import type { Method } from '@stemma/api/method.ts'
import { networksOf } from '../../wire/client-network.ts'
import { forwardedFor, maxOpenRequestBytes } from '../door.ts'
import type { LimitedStream, RequestState } from './limited-stream.ts'

const mib = 1024 * 1024
export const maxMessageBytes = 4 * mib
export const maxMessageBytesOf = ({ access }: Method) =>
  access?.open ? maxOpenRequestBytes : maxMessageBytes
const maxConnectionBytes = { anonymous: 4 * mib, trusted: 16 * mib }
/** In the order of `owners` of a request: the networks, widest first, then the identity. */
const maxOwnerBytes = {
  anonymous: [16 * mib, 12 * mib, 8 * mib],
  trusted: [48 * mib, 40 * mib, 32 * mib, 24 * mib],
}
const maxTotalBytes = { anonymous: 32 * mib, trusted: 64 * mib }
/** Decompression with deflate makes a message at most this many times as large. */
const maxInflation = 1032

export type RequestBytes = {
  /** Counts the bytes of a request that have arrived. Returns which limit is exceeded, if any. */
  reserve(stream: LimitedStream): 'connection' | 'owner' | 'total' | undefined
  /** Counts the request as one of this identity from now on. */
  trust(stream: LimitedStream, identity: string): void
  release(stream: LimitedStream): void
}

/** Connections of proxies carry the calls of many clients, so they have no limit of their own. */
export function openRequestBytes(isProxy: (address: string) => boolean): RequestBytes {
  const totals = { anonymous: 0, trusted: 0 }
  /** Owners without bytes have no entry. */
  const bytesOf = new Map<string, number>()

  function add({ request: { trustLevel, owners }, usage }: LimitedStream, bytes: number): void {
    usage.requestBytes[trustLevel] += bytes
    totals[trustLevel] += bytes
    for (const owner of owners) {
      const sum = (bytesOf.get(owner) ?? 0) + bytes
      if (sum === 0) bytesOf.delete(owner)
      else bytesOf.set(owner, sum)
    }
  }

  function release(stream: LimitedStream): void {
    const { request } = stream as Partial<LimitedStream>
    // A stream that was refused before `limitStream` was called has no request.
    if (!request || request.reserved === 0) return
    add(stream, -request.reserved)
    request.reserved = 0
  }

  return {
    reserve(stream) {
      const { request, usage } = stream
      const { trustLevel } = request
      if (request.owners.length === 0) request.owners = ownersOf(trustLevel, addressOf(stream))
      const size = sizeOf(request)
      add(stream, size - request.reserved)
      request.reserved = size
      if (usage.requestBytes[trustLevel] > maxConnectionBytes[trustLevel] && !isProxy(peerOf(stream)))
        return 'connection'
      const isOver = (owner: string, index: number) =>
        (bytesOf.get(owner) ?? 0) > (maxOwnerBytes[trustLevel][index] ?? 0)
      if (request.owners.some(isOver)) return 'owner'
      return totals[trustLevel] > maxTotalBytes[trustLevel] ? 'total' : undefined
    },
    trust(stream, identity) {
      release(stream)
      stream.request.trustLevel = 'trusted'
      stream.request.owners = ownersOf('trusted', addressOf(stream), identity)
    },
    release,
  }
}

/** A message is decompressed when it is complete. Until then, only the bytes that were sent are in memory. */
function sizeOf({ bytes, isCompressed, messages }: RequestState): number {
  if (!isCompressed || !messages) return bytes
  return Math.max(bytes, Math.min(bytes * maxInflation, messages.complete * maxMessageBytes))
}

/** Each name contains the trust level and the position, because otherwise two owners could have the same name. */
const ownersOf = (trustLevel: RequestState['trustLevel'], address: string, ...identity: string[]) =>
  [...networksOf(address), ...identity].map((owner, index) => `${trustLevel} ${index} ${owner}`)

const peerOf = ({ session }: LimitedStream) => session?.socket.remoteAddress ?? ''

const addressOf = ({ session, headers, options }: LimitedStream) =>
  options.addressOf(session?.socket.remoteAddress, forwardedFor(headers))
