// One request to a sink, within 15 seconds. Only the beginning of the answer is read.
import type { IncomingMessage } from 'node:http'
import type { GuardedSend } from '../auth/outbound/outbound.ts'
import { NoAddressError } from '../auth/outbound/outbound.ts'
import type { OutboundRequest } from '../auth/outbound/send-request.ts'
import { isLoopback } from '../claims/issuer.ts'

/** `status` is 0 and `error` says why if there was no answer. Header names are lowercase. */
export type SinkResponse = {
  status: number
  headers: IncomingMessage['headers']
  body: string
  error: string
  latencyMs: number
}

export type SendOptions = {
  guardedSend: GuardedSend
  /** Whether sinks on this machine are allowed, also with http. */
  isLoopbackAllowed: boolean
  /** A monotonic clock in milliseconds. */
  clock(): number
  timeoutMs?: number
}

/** `stopped` ends the request early, when the server stops. */
export type Send = (sink: string, request: OutboundRequest, stopped: AbortSignal) => Promise<SinkResponse>

const maxBodyBytes = 1024
/** The status decides, so a body that arrives slowly is cut off. */
const bodyTimeoutMs = 2000

export function openSend({ guardedSend, isLoopbackAllowed, clock, timeoutMs = 15_000 }: SendOptions): Send {
  return async (sink, request, stopped) => {
    const url = new URL(sink)
    const started = clock()
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([timeout, stopped])
    try {
      const response = await guardedSend(url, isLoopbackAllowed && isLoopback(url), request, signal)
      const latencyMs = clock() - started
      const body = await beginningOf(response)
      return { status: response.statusCode ?? 0, headers: response.headers, body, error: '', latencyMs }
    } catch (error) {
      const text = timeout.aborted ? `no answer within ${timeoutMs / 1000} seconds` : failureText(error)
      return { status: 0, headers: {}, body: '', error: text, latencyMs: clock() - started }
    }
  }
}

/** The first kilobyte as text. Invalid UTF-8 is replaced, and NUL, which PostgreSQL does not store, is left out. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const timer = setTimeout(() => response.destroy(), bodyTimeoutMs)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= maxBodyBytes) break
    }
  } catch {
    // The sink ended its body early; its status counts.
  } finally {
    clearTimeout(timer)
    response.destroy()
  }
  const bytes = Buffer.concat(chunks).subarray(0, maxBodyBytes)
  return bytes.toString().replaceAll('\0', '')
}

/**
 * By the code of the error. The messages of other errors are not shown, because they may contain
 * addresses of the internal network.
 */
const failureTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate has an unknown issuer',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate has an unknown issuer',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate has an unknown issuer',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
}

function failureText(error: unknown): string {
  if (error instanceof NoAddressError)
    return 'the host has no public address, or only addresses of this server'
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return failureTexts[code ?? cause?.code ?? ''] ?? 'the sink cannot be reached'
}
