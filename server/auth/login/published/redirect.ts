// The address on the person's machine that receives the token.
import { invalidField } from '../../../aip/errors.ts'
import { isLoopback } from '../../../claims/issuer.ts'

/** A token in a URL may be sent only to the machine of the person. */
export function requireLoopbackRedirect(exit: string | null, redirect: string): void {
  if (exit !== 'redirect') throw invalidField('exit', 'must be redirect')
  const url = URL.canParse(redirect) ? new URL(redirect) : undefined
  const isPlain = url?.protocol === 'http:' && url.username === '' && url.password === '' && url.hash === ''
  if (!url || !isLoopback(url) || !isPlain)
    throw invalidField('redirect', 'must be an http loopback address, such as http://localhost:8085/callback')
}

/** Adds the result to the query of the address, in place of the placeholders that clients put there. */
export function redirectWith(redirect: string, result: Record<string, string>): string {
  const url = new URL(redirect)
  for (const name of ['token', 'refresh_token', 'error', 'status_code']) url.searchParams.delete(name)
  for (const [name, value] of Object.entries(result)) url.searchParams.set(name, value)
  return url.href
}
