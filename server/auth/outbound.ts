// Fetches the documents of issuers that callers name. A name is resolved once, its addresses are checked, and
// the connection goes to a checked address: no answer of a name server, and no redirect, leads elsewhere.
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { isPublic } from './public-address.ts'

/** Fetches JSON. `isTrusted` lets an issuer of the operator's choice lie anywhere. */
export type Outbound = (url: string, isTrusted: boolean) => Promise<unknown>

export type OutboundOptions = {
  /** For everything: names, connections, and the last byte. */
  patience?: number
  largest?: number
  resolve?: (hostname: string) => Promise<LookupAddress[]>
}

/** What is wrong with the other side; told in the log, not to callers. */
export class OutboundError extends Error {}

const mostAddresses = 8

export function openOutbound({
  patience = 5000,
  largest = 1024 * 1024,
  resolve = (hostname) => lookup(hostname, { all: true, verbatim: true }),
}: OutboundOptions = {}): Outbound {
  return async (text, isTrusted) => {
    const url = new URL(text)
    if (url.protocol !== 'https:' && !(isTrusted && url.protocol === 'http:'))
      throw new OutboundError(`${text} is not https`)
    const signal = AbortSignal.timeout(patience)
    const addresses = await inTime(addressesOf(url, resolve), signal)
    const allowed = addresses.filter((address) => isTrusted || isPublic(address)).slice(0, mostAddresses)
    if (allowed.length === 0)
      throw new OutboundError(`${url.hostname} has no public address, but ${addresses.join(', ') || 'none'}`)
    return fetchFrom(url, allowed, signal, largest)
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
  signal: AbortSignal,
  largest: number,
): Promise<unknown> {
  const failures: string[] = []
  for (const address of addresses) {
    const answer = await connect(url, address, signal).catch((error: Error) => {
      failures.push(`${address}: ${error.message}`)
    })
    if (answer) return readJson(url, answer, signal, largest)
    if (signal.aborted) break
  }
  throw new OutboundError(`${url} cannot be reached: ${failures.join('; ')}`)
}

function connect(url: URL, address: string, signal: AbortSignal): Promise<IncomingMessage> {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const options = {
    ...{
      host: address,
      port: url.port || undefined,
      path: url.pathname + url.search,
      agent: false as const,
      signal,
    },
    headers: { host: url.host, accept: 'application/json', 'user-agent': 'stemma' },
    // The certificate must be of the name, whichever address answers.
    ...(isIP(hostname) ? {} : { servername: hostname }),
  }
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps(options, resolve) : requestHttp(options, resolve)
    request.on('error', reject)
    // Whatever else it does in place of answering, it has not answered.
    request.on('upgrade', (_, socket) => socket.destroy())
    request.on('close', () => reject(new Error('it closed the connection')))
    request.end()
  })
}

async function readJson(
  url: URL,
  answer: IncomingMessage,
  signal: AbortSignal,
  largest: number,
): Promise<unknown> {
  try {
    if (answer.statusCode !== 200) throw new OutboundError(`${url} answered ${answer.statusCode}`)
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of answer) {
      size += chunk.length
      if (size > largest) throw new OutboundError(`${url} answered more than ${largest} bytes`)
      chunks.push(chunk)
    }
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch (error) {
    if (error instanceof OutboundError) throw error
    const reason = signal.aborted ? 'took too long' : 'answered no JSON'
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
