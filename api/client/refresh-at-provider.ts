// A new pair of tokens from the token endpoint of OpenID Connect (RFC 6749, section 6).
import { Code } from '../gen/google/rpc/code_pb.ts'
import { errorOf, readObject, StemmaError } from './errors.ts'
import { reach, tooLong } from './reach.ts'
import { limit } from './time.ts'
import type { ConnectionOptions } from './transport.ts'

export type Fetched = {
  token: string
  /** In milliseconds since 1970. */
  expiry: number
}

export type Refreshed = Fetched & { refreshToken: string }

type Reply = {
  access_token?: string
  refresh_token?: string
  expires_in?: number
  error?: string
  error_description?: string
}

const minute = 60_000

/** Never tried again: the token may have been used up although no answer came. */
export async function refreshAtProvider(
  issuer: ConnectionOptions,
  clientId: string,
  refreshToken: string,
): Promise<Refreshed> {
  const asked = Date.now()
  const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }
  const init = { method: 'POST', body: new URLSearchParams(form), redirect: 'error' as const }
  const { answer, text } = await send(issuer, '/oauth/token', init)
  const reply: Reply = readObject(text) ?? {}
  if (reply.access_token === undefined) throw refused(answer, text, reply)
  return {
    token: reply.access_token,
    expiry: asked + (reply.expires_in ?? 0) * 1000,
    refreshToken: reply.refresh_token ?? refreshToken,
  }
}

async function send(
  { baseUrl, fetch = globalThis.fetch, timeout = minute }: ConnectionOptions,
  path: string,
  init: RequestInit,
) {
  const base = baseUrl.replace(/\/+$/, '')
  const { signal, clear } = limit(timeout, () => tooLong(timeout))
  try {
    return await reach(base, signal, async () => {
      const answer = await fetch(base + path, { ...init, signal })
      return { answer, text: await answer.text() }
    })
  } finally {
    clear()
  }
}

function refused({ status, headers }: Response, text: string, { error, error_description }: Reply) {
  if (error !== 'invalid_grant') return errorOf(status, headers, text)
  const why = error_description ?? 'the refresh token is not valid'
  return new StemmaError(Code.UNAUTHENTICATED, `Unauthenticated: ${why}; sign in again`, { status })
}
