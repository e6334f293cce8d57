// Fetches the documents of issuers that callers name. A name is resolved once, its addresses are checked, and
// the connection goes to a checked address: no answer of a name server, and no redirect, leads elsewhere.
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { isPublic } from './public-address.ts'

/** Fetches JSON. `isTrusted` lets an issuer of the operator's choice lie anywhere. */
export type Outbound = (url: string, isTrusted: boolean) => Promise<unknown>

export type Ask = { method?: string; headers?: Record<string, string>; body?: string }
export type Answered = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/** Sends a request wherever it may go, and reads all of the answer. */
export type Reach = (url: string, isTrusted: boolean, ask?: Ask) => Promise<Answered>

export type OutboundOptions = {
  /** For everything: names, connections, and the last byte. */
  patience?: number
  largest?: number
  resolve?: (hostname: string) => Promise<LookupAddress[]>
}

/** What is wrong with the other side; told in the log, not to callers. */
export class OutboundError extends Error {}

const mostAddresses = 8

export function openOutbound(options: OutboundOptions = {}): Outbound {
  const reach = openReach(options)
  return async (url, isTrusted) => {
    const { status, body } = await reach(url, isTrusted)
    if (status !== 200) throw new OutboundError(`${url} answered ${status}`)
    try {
      return JSON.parse(body.toString())
    } catch (cause) {
      throw new OutboundError(`${url} answered no JSON`, { cause })
    }
  }
}

export function openReach({
  patience = 5000,
  largest = 1024 * 1024,
  resolve = (hostname) => lookup(hostname, { all: true, verbatim: true }),
}: OutboundOptions = {}): Reach {
  return async (text, isTrusted, ask = {}) => {
    const url = new URL(text)
    if (url.protocol !== 'https:' && !(isTrusted && url.protocol === 'http:'))
      throw new OutboundError(`${text} is not https`)
    const signal = AbortSignal.timeout(patience)
    const addresses = await inTime(addressesOf(url, resolve), signal)
    const allowed = addresses.filter((address) => isTrusted || isPublic(address)).slice(0, mostAddresses)
    if (allowed.length === 0)
      throw new OutboundError(`${url.hostname} has no public address, but ${addresses.join(', ') || 'none'}`)
    return fetchFrom(url, allowed, ask, signal, largest)
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

/** The next address is tried where one cannot be reached; an answer, whatever it is, is final. */
async function fetchFrom(
  url: URL,
  addresses: string[],
  ask: Ask,
  signal: AbortSignal,
  largest: number,
): Promise<Answered> {
  const failures: string[] = []
  for (const address of addresses) {
    const answer = await connect(url, address, ask, signal).catch((error: Error) => {
      failures.push(`${address}: ${error.message}`)
    })
    if (answer) return readAll(url, answer, signal, largest)
    if (signal.aborted) break
  }
  throw new OutboundError(`${url} cannot be reached: ${failures.join('; ')}`)
}

function connect(url: URL, address: string, ask: Ask, signal: AbortSignal): Promise<IncomingMessage> {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const options = {
    ...{
      host: address,
      port: url.port || undefined,
      path: url.pathname + url.search,
      agent: false as const,
      signal,
    },
    method: ask.method ?? 'GET',
    headers: { accept: 'application/json', ...ask.headers, host: url.host, 'user-agent': 'stemma' },
    // The certificate must be of the name, whichever address answers.
    ...(isIP(hostname) ? {} : { servername: hostname }),
  }
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps(options, resolve) : requestHttp(options, resolve)
    request.on('error', reject)
    // Whatever else it does in place of answering, it has not answered.
    request.on('upgrade', (_, socket) => socket.destroy())
    request.on('close', () => reject(new Error('it closed the connection')))
    request.end(ask.body)
  })
}

async function readAll(
  url: URL,
  answer: IncomingMessage,
  signal: AbortSignal,
  largest: number,
): Promise<Answered> {
  try {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of answer) {
      size += chunk.length
      if (size > largest) throw new OutboundError(`${url} answered more than ${largest} bytes`)
      chunks.push(chunk)
    }
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }
  } catch (error) {
    if (error instanceof OutboundError) throw error
    const reason = signal.aborted ? 'took too long' : 'broke off its answer'
    throw new OutboundError(`${url} ${reason}`, { cause: error })
  } finally {
    answer.destroy()
  }
}

function inTime<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new OutboundError('the name server took too long')))
  })
  return Promise.race([promise, late])
}
