// Sends requests to hosts that callers name, guarded against server-side request forgery: a host name is resolved
// once, its addresses are checked, and the connection is made to a checked address. Neither a second DNS answer nor
// a redirect can lead elsewhere.
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isPublic } from './public-address.ts'
import type { OutboundRequest } from './send-request.ts'
import { sendRequest } from './send-request.ts'

export type OutboundResponse = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/**
 * Sends a request and reads the whole response. `isTrusted` allows http and private addresses, for hosts that the
 * operator has chosen.
 */
export type Outbound = (
  url: string,
  isTrusted: boolean,
  request?: OutboundRequest,
) => Promise<OutboundResponse>

export type OutboundOptions = {
  /** For the whole exchange: name resolution, connection and response. */
  timeoutMs?: number
  maxBytes?: number
  resolve?: (hostname: string) => Promise<LookupAddress[]>
}

/** A failure of the other host. It is logged; callers of the API do not see it. */
export class OutboundError extends Error {}

/** A host has no address to which requests are allowed. */
export class NoAddressError extends OutboundError {
  constructor(hostname: string, addresses: readonly string[]) {
    super(`${hostname} has no usable address; its addresses are ${addresses.join(', ') || 'none'}`)
  }
}

const maxAddresses = 8
/**
 * For every address but the last, so that addresses that accept no connection leave time for the others: after seven
 * of them, the eighth has 1.5 of 5 seconds left.
 */
const connectTimeoutMs = 500

export function openOutbound({
  timeoutMs = 5000,
  maxBytes = 1024 * 1024,
  resolve,
}: OutboundOptions = {}): Outbound {
  const guardedSend = openGuardedSend(resolve && { resolve })
  return async (text, isTrusted, request = {}) => {
    const url = new URL(text)
    const signal = AbortSignal.timeout(timeoutMs)
    return readAll(url, await guardedSend(url, isTrusted, request, signal), signal, maxBytes)
  }
}

/** Sends a request and returns the response, whose body is still to be read. `signal` ends every step. */
export type GuardedSend = (
  url: URL,
  isTrusted: boolean,
  request: OutboundRequest,
  signal: AbortSignal,
) => Promise<IncomingMessage>

export type GuardedSendOptions = {
  resolve?: (hostname: string) => Promise<LookupAddress[]>
  /** Refuses addresses even for trusted hosts. */
  isRefused?: (url: URL, address: string) => boolean
}

export function openGuardedSend({
  resolve = (hostname) => lookup(hostname, { all: true, verbatim: true }),
  isRefused = () => false,
}: GuardedSendOptions = {}): GuardedSend {
  return async (url, isTrusted, request, signal) => {
    if (url.protocol !== 'https:' && !(isTrusted && url.protocol === 'http:'))
      throw new OutboundError(`${url} is not https`)
    const addresses = await inTime(addressesOf(url, resolve), signal)
    const allowed = addresses
      .filter((address) => (isTrusted || isPublic(address)) && !isRefused(url, address))
      .slice(0, maxAddresses)
    if (allowed.length === 0) throw new NoAddressError(url.hostname, addresses)
    return sendToAny(url, allowed, request, signal)
  }
}

async function addressesOf(
  url: URL,
  resolve: (hostname: string) => Promise<LookupAddress[]>,
): Promise<string[]> {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(hostname)) return [hostname]
  return (await resolve(hostname)).map(({ address }) => address)
}

/** Tries the addresses in turn until one responds, with whatever status. */
async function sendToAny(
  url: URL,
  addresses: string[],
  request: OutboundRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const failures: string[] = []
  let cause: Error | undefined
  for (const [at, address] of addresses.entries()) {
    const limit = at === addresses.length - 1 ? undefined : connectTimeoutMs
    const response = await sendRequest(url, address, request, signal, limit).catch((error: Error) => {
      failures.push(`${address}: ${error.message}`)
      cause = error
    })
    if (response) return response
    if (signal.aborted) break
  }
  throw new OutboundError(`${url} cannot be reached: ${failures.join('; ')}`, { cause })
}

async function readAll(
  url: URL,
  response: IncomingMessage,
  signal: AbortSignal,
  maxBytes: number,
): Promise<OutboundResponse> {
  try {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of response) {
      size += chunk.length
      if (size > maxBytes) throw new OutboundError(`${url} sent more than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
  } catch (error) {
    if (error instanceof OutboundError) throw error
    const reason = signal.aborted ? 'timed out' : 'ended its response early'
    throw new OutboundError(`${url} ${reason}`, { cause: error })
  } finally {
    response.destroy()
  }
}

function inTime<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const timeout = new Promise<never>((_, reject) => {
    const fail = () => reject(new OutboundError('the name resolution timed out'))
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail)
  })
  return Promise.race([promise, timeout])
}
