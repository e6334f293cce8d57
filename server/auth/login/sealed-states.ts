// The state of a visitor who has not signed in. Anyone can begin a sign-in, so the server stores nothing for it. The
// browser keeps the state in encrypted cookies: every copy of the server can read them, and a flood of sign-ins cannot
// displace them.
//
// A state is bound to its id, which oidc-provider keeps in a signed cookie. A browser can send one of its old states
// again. That is harmless: until somebody has signed in, a state only allows its holder to sign in. The server stores
// the result of a sign-in, which can be used once.
import { errors } from 'oidc-provider'
import type { Sealer } from '../../crypto/secret.ts'
import { openText, sealText } from '../../crypto/secret.ts'
import { prefixOf } from '../../pages/url-prefix.ts'
import { cookieNamesOf, readCookie, setCookie } from './cookies.ts'
import type { Payload } from './expiring-states.ts'
import type { PageRequest } from './page-request.ts'
import { paths } from './paths.ts'
import { identityOf } from './state-identity.ts'

export type SealedStates = {
  put(kind: string, id: string, payload: Payload, seconds: number): void
  find(kind: string, id: string): Payload | undefined
  /** Returns whether the browser had the state. */
  remove(kind: string, id: string): boolean
}

export type SealedStateDependencies = {
  sealer: Sealer
  authUrl: string
  now(): number
  /** The request that is being answered. */
  currentPage(): PageRequest
}

/**
 * Sessions and interactions of oidc-provider. The only other state before a sign-in is a device code. It is stored,
 * because the device and the browser both need it.
 */
export const isSealedKind = (kind: string) => kind === 'Session' || kind === 'Interaction'

/** Maximum length of the value of a cookie. Browsers accept 4096 characters for name and value together. */
const maxCookieLength = 3500
/** Some proxies accept only 8 KB for all cookies together. */
const maxCookies = 2
/** Lower than the limit of an interaction: browsers send the cookie of a session to every path, for a day. */
const maxSessionLength = 1000

const maxLengthOf = (kind: string) => (kind === 'Session' ? maxSessionLength : maxCookies * maxCookieLength)

export function openSealedStates(deps: SealedStateDependencies): SealedStates {
  const { sealer, authUrl, now, currentPage } = deps
  const find = (kind: string, id: string): Payload | undefined => {
    const sealed = readParts(currentPage(), cookieNameOf(authUrl, kind))
    if (sealed === undefined || sealed.length > maxLengthOf(kind)) return undefined
    try {
      const state = JSON.parse(openText(sealer, purposeOf(kind, id), sealed)) as SealedState
      // The state of a signed-in person is never accepted from a cookie. It is in the store, where it can be ended and
      // marked as used.
      const isOfVisitor = identityOf(state.payload) === undefined
      return isOfVisitor && state.expires > now() ? state.payload : undefined
    } catch {
      return undefined
    }
  }
  const set = (name: string, value: string, path: string, seconds: number) =>
    setCookie(authUrl, currentPage(), { name, value, path, seconds })
  return {
    find,
    put(kind, id, payload, seconds) {
      const state: SealedState = { payload, expires: now() + seconds * 1000 }
      const sealed = sealText(sealer, purposeOf(kind, id), JSON.stringify(state))
      requireFit(kind, sealed)
      const parts = partsOf(sealed)
      const { pages, result } = pathsOf(authUrl, kind, id, payload)
      const path = payload.result === undefined ? pages : result
      for (const [at, value] of parts.entries())
        set(`${cookieNameOf(authUrl, kind)}${at}`, value, path, seconds)
    },
    remove(kind, id) {
      const payload = find(kind, id)
      if (!payload) return false
      for (const path of Object.values(pathsOf(authUrl, kind, id, payload)))
        for (let at = 0; at < maxCookies; at++) set(`${cookieNameOf(authUrl, kind)}${at}`, '', path, 0)
      return true
    },
  }
}

/** `expires` is in milliseconds since 1970. */
type SealedState = { payload: Payload; expires: number }

/** Encrypted states are bound to this text, so changing it would break sign-ins that are under way. */
const purposeOf = (kind: string, id: string) => `unfinished sign-in ${kind} ${id}`

function cookieNameOf(authUrl: string, kind: string): string {
  const { visit, unfinished } = cookieNamesOf(authUrl)
  return kind === 'Session' ? visit : unfinished
}

type CookiePaths = { pages: string; result: string }

/**
 * The paths that the cookies of a state are limited to. An interaction is needed at the `pages` of the sign-in. Once it
 * has a `result`, it is needed at the path where oidc-provider continues.
 */
const pathsOf = (authUrl: string, kind: string, id: string, { returnTo }: Payload): CookiePaths =>
  kind === 'Session'
    ? { pages: '/', result: '/' }
    : { pages: `${prefixOf(authUrl)}${paths.signIn}/${id}`, result: new URL(String(returnTo)).pathname }

function requireFit(kind: string, sealed: string): void {
  const what = kind === 'Session' ? 'session' : 'sign-in'
  if (sealed.length > maxLengthOf(kind))
    throw new errors.InvalidRequest(
      `the parameters are too large: an encrypted ${what} may have at most ${maxLengthOf(kind)} characters`,
    )
}

/** The first part begins with the number of parts, since the browser may still have parts of a longer state. */
function partsOf(sealed: string): string[] {
  const count = Math.ceil(sealed.length / maxCookieLength)
  const parts = Array.from({ length: count }, (_, at) =>
    sealed.slice(at * maxCookieLength, (at + 1) * maxCookieLength),
  )
  return parts.map((part, at) => (at === 0 ? `${count}.${part}` : part))
}

function readParts(page: PageRequest, name: string): string | undefined {
  const [, count, start] = /^([12])\.(.*)$/.exec(readCookie(page, `${name}0`) ?? '') ?? []
  if (count === undefined) return undefined
  return count === '1' ? start : `${start}${readCookie(page, `${name}1`) ?? ''}`
}
