// The session of the browser. Its access token is only in memory, and is replaced shortly before it expires.
import { signal } from '@preact/signals'
import { cachedTokenSource } from '@stemma/api/json'
import { paths } from '../paths.ts'

export type Person = { uid: string; name: string; email?: string }

/** The signed-in person. Undefined until the first token is there. */
export const person = signal<Person | undefined>(undefined)
/** Whether the session ended while pages are open. */
export const isEnded = signal(false)

const prefix = document.documentElement.dataset.prefix ?? ''

export class SessionEnded extends Error {
  override message = 'Your session has ended. Sign in again to continue.'
}

type TokenResponse = { token?: string; expiresInSeconds?: number; person?: Person }

const post = (path: string) =>
  fetch(prefix + path, { method: 'POST', headers: { 'x-stemma-console': '1' }, cache: 'no-store' })

export const accessToken = cachedTokenSource(async () => {
  const response = await post(paths.token())
  if (!response.ok) throw new Error(`the server answered ${response.status} to a request for a token`)
  const { token, expiresInSeconds = 0, person: signedIn } = (await response.json()) as TokenResponse
  if (!token || !signedIn) {
    isEnded.value = true
    throw new SessionEnded()
  }
  isEnded.value = false
  if (person.value && person.value.uid !== signedIn.uid) location.reload()
  person.value = signedIn
  return { token, expiry: Date.now() + expiresInSeconds * 1000 }
})

/** Sends a call. If its token is refused, which a sign-out elsewhere can cause, it is sent again with another token. */
export const fetchWithToken: typeof fetch = async (input, init = {}) => {
  const response = await fetch(input, init)
  const headers = new Headers(init.headers)
  const sent = headers.get('authorization')?.replace(/^Bearer /, '')
  if (response.status !== 401 || !sent) return response
  accessToken.invalidate?.(sent)
  try {
    headers.set('authorization', `Bearer ${await accessToken()}`)
  } catch {
    return response
  }
  return fetch(input, { ...init, headers })
}

/** Leaves the page for the sign-in, which returns to it. */
export function signIn(): void {
  const here = location.pathname.slice(prefix.length) + location.search
  location.assign(prefix + paths.signIn(here))
}

export async function signOut(everywhere: boolean): Promise<void> {
  const response = await post(paths.signOut() + (everywhere ? '?everywhere' : ''))
  if (!response.ok) throw new Error(`the server answered ${response.status} to the sign-out`)
  otherTabs.postMessage('signed out')
  location.assign(`${prefix}/`)
}

const otherTabs = new BroadcastChannel('stemma-console-session')
otherTabs.onmessage = () => location.reload()
