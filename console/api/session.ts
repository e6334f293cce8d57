// The session of the browser. Its access token is only in memory, and is replaced shortly before it expires.
import { signal } from '@preact/signals'
import { Code, cachedTokenSource, StemmaError } from '@stemma/api/json'
import { paths } from '../paths.ts'

export type Person = { uid: string; name: string; email?: string }

/** The signed-in person. Undefined until the first token has arrived. */
export const person = signal<Person | undefined>(undefined)
/** `ended`: the session has ended. `not-fresh`: a call needs a sign-in within the last minutes. */
export type SignInReason = 'ended' | 'not-fresh'
/** Why the person must sign in again; undefined if they need not. */
export const signInReason = signal<SignInReason | undefined>(undefined)

const prefix = document.documentElement.dataset.prefix ?? ''

export class SessionEnded extends StemmaError {
  constructor() {
    super(Code.UNAUTHENTICATED, 'Your session has ended. Sign in again to continue.')
  }
}

type TokenResponse = { token?: string; expiresInSeconds?: number; person?: Person }

const post = (path: string) =>
  fetch(prefix + path, { method: 'POST', headers: { 'x-stemma-console': '1' }, cache: 'no-store' })

export const accessToken = cachedTokenSource(async () => {
  const { token, expiresInSeconds = 0, person: signedIn } = await requestToken()
  if (!token || !signedIn) {
    signInReason.value = 'ended'
    throw new SessionEnded()
  }
  if (person.value && person.value.uid !== signedIn.uid) {
    location.reload()
    // The script runs on until the page is gone. Calls of the previous person must not get this token.
    return new Promise<never>(() => {})
  }
  person.value = signedIn
  return { token, expiry: Date.now() + expiresInSeconds * 1000 }
})

/** Every failure is a `StemmaError`, as those of other calls are. */
async function requestToken(): Promise<TokenResponse> {
  let status: number | undefined
  try {
    const response = await post(paths.token())
    if (response.ok) return (await response.json()) as TokenResponse
    status = response.status
  } catch (cause) {
    throw new StemmaError(Code.UNAVAILABLE, 'Unavailable: no token can be requested', { cause })
  }
  const message = `Unavailable: the server answered ${status} to a request for a token`
  throw new StemmaError(Code.UNAVAILABLE, message, { status })
}

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
export function signIn(reason: SignInReason = 'ended'): void {
  const here = location.pathname.slice(prefix.length) + location.search
  location.assign(signInUrl(here, reason))
}

/** With `again`, a person who is signed in must prove again who they are, which makes their sign-in a recent one. */
const signInUrl = (to: string, reason: SignInReason) =>
  `${prefix}${paths.signIn(to)}${reason === 'not-fresh' ? '&again' : ''}`

let waiting: ((hasSignedIn: boolean) => void)[] = []

/** Asks the person to sign in (shell/sign-in-again.tsx). Resolves to whether they have. */
export function askToSignIn(reason: SignInReason): Promise<boolean> {
  signInReason.value = reason
  return new Promise((resolve) => {
    waiting.push(resolve)
  })
}

export function stopAsking(hasSignedIn: boolean): void {
  signInReason.value = undefined
  for (const resolve of waiting) resolve(hasSignedIn)
  waiting = []
}

/** Opens the sign-in in a window of its own, or in place of the page if the browser blocks windows. */
export function openSignIn(reason: SignInReason): void {
  const url = signInUrl(paths.signedIn(), reason)
  if (!open(url, 'stemma-sign-in', 'popup,width=480,height=720')) signIn(reason)
}

/** Called in the window of the sign-in, when it is done. */
export const announceSignIn = () => otherTabs.postMessage('signed in')

/** Calls `listener` when the person has signed in, in a window or in another tab. Returns a function that ends this. */
export function onSignedIn(listener: () => void): () => void {
  const listen = async ({ data }: MessageEvent<string>) => {
    if (data !== 'signed in') return
    // The token of the previous sign-in would be refused again.
    const token = accessToken()
    if (typeof token === 'string') accessToken.invalidate?.(token)
    await accessToken()
    listener()
    stopAsking(true)
  }
  otherTabs.addEventListener('message', listen)
  return () => otherTabs.removeEventListener('message', listen)
}

export async function signOut(everywhere: boolean): Promise<void> {
  const response = await post(paths.signOut() + (everywhere ? '?everywhere' : ''))
  if (!response.ok) throw new Error(`the server answered ${response.status} to the sign-out`)
  otherTabs.postMessage('signed out')
  location.assign(`${prefix}/`)
}

const otherTabs = new BroadcastChannel('stemma-console-session')
otherTabs.addEventListener('message', ({ data }) => data === 'signed out' && location.reload())
