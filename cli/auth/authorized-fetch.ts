// Requests of `stemma auth` to the issuer, with a bearer token.
import { Code } from '@stemma/api/gen/google/rpc/code_pb.ts'
import { exitCodeOf, exitCodes } from '../exit-codes.ts'
import { Failure, NotSignedIn } from '../failure.ts'

/** The timeout of one request. A refresh sends up to two requests, and must end before its lock becomes stale (30 s). */
export const requestTimeoutSeconds = 10

export async function fetchAuthorized<T>(url: string, token: string, init: RequestInit = {}): Promise<T> {
  const headers = { ...init.headers, authorization: `Bearer ${token}` }
  const signal = AbortSignal.timeout(requestTimeoutSeconds * 1000)
  const { response, text } = await fetchText(url, { ...init, headers, signal, redirect: 'error' })
  if (response.ok) return parseJson<T>(url, text)
  const { code = Code.UNKNOWN, message = `HTTP ${response.status}` } = parseError(text)
  throw code === Code.UNAUTHENTICATED ? new NotSignedIn(message) : new Failure(message, exitCodeOf(code))
}

function parseJson<T>(url: string, text: string): T {
  try {
    return (text === '' ? {} : JSON.parse(text)) as T
  } catch {
    throw new Failure(`${new URL(url).origin} sent a response that is not JSON`, exitCodes.unavailable)
  }
}

async function fetchText(url: string, init: RequestInit) {
  try {
    const response = await fetch(url, init)
    return { response, text: await response.text() }
  } catch (error) {
    throw unreachable(url, error as Error)
  }
}

export const unreachable = (url: string, error: Error): Failure =>
  new Failure(`${new URL(url).origin} cannot be reached: ${reasonOf(error)}`, exitCodes.unavailable)

/** For a host with several addresses, the cause has one error per address and no message, only a code. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || message : message
}

function parseError(text: string): { code?: number; message?: string } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}
