// Sessions of the web console. The browser has a cookie with a random id, which the API does not accept; the console
// gets access tokens for it (token.ts) and keeps them in memory. The session is a row of the store, so it survives a
// restart, is valid on every copy, and ends with its sign-in.
import type { Provider } from 'oidc-provider'
import type { RandomBytes } from '../../../crypto/random.ts'
import type { Sealer } from '../../../crypto/secret.ts'
import type { Store } from '../../../store/db.ts'
import type { SignIn } from '../../../wire/caller.ts'
import type { MintDependencies } from '../../tokens/mint.ts'
import { cookieNamesOf, readCookie, setCookie } from '../cookies.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import type { PageEvent, PageLog } from '../page-log.ts'
import type { PageRequest } from '../page-request.ts'
import type { Profile } from '../people.ts'
import type { RedeemedCode } from '../redeem-code.ts'

export type ConsoleDependencies = MintDependencies & {
  provider(): Provider
  store: Store
  states: ExpiringStates
  /** Encrypts the state of sign-ins under way, which the browser carries. */
  sealer: Sealer
  baseUrl: string
  random: RandomBytes
  findPerson(identity: string): Promise<Profile | undefined>
  pageLog: PageLog
}

export type ConsoleSession = {
  signIn: SignIn
  /**
   * The session at the sign-in pages in which the sign-in was made. Absent if it was made by setting up the server, or
   * if an older version stored this session.
   */
  browserSession?: string
}

const kind = 'ConsoleSession'
/** The same lifetime as that of a session at the sign-in pages. */
export const sessionLifetimeSeconds = 24 * 60 * 60

/** Begins a session with a new id, in place of any session that the browser has: an id from outside is never used. */
export async function startConsoleSession(
  deps: ConsoleDependencies,
  page: PageRequest,
  { signIn, grant, browserSession }: RedeemedCode,
): Promise<void> {
  const { store, states, random, pageLog } = deps
  const [previous, id] = [idOf(deps, page), random(32).toString('base64url')]
  const { person: identity, provider } = signIn
  const keys = { grant, identity, provider }
  const event: PageEvent = {
    method: 'console/signed-in',
    action: 'issued',
    identity,
    provider,
    details: { client: 'console' },
  }
  await store.write(function* () {
    if (previous !== undefined) yield* states.remove(kind, previous)
    yield* states.put(kind, id, { signIn, browserSession }, sessionLifetimeSeconds, keys)
    yield* pageLog.record(page, event)
  })
  setSessionCookie(deps, page, id, sessionLifetimeSeconds)
}

/** Undefined if the browser has no session, or if its sign-in has ended. */
export async function findConsoleSession(
  deps: ConsoleDependencies,
  page: PageRequest,
): Promise<ConsoleSession | undefined> {
  const id = idOf(deps, page)
  const state = id === undefined ? undefined : await deps.store.read(() => deps.states.find(kind, id))
  if (!state) return undefined
  const session = state.payload as ConsoleSession
  const { signedInAt } = session.signIn
  return state.signedOutAt !== undefined && signedInAt <= state.signedOutAt ? undefined : session
}

export async function forgetConsoleSession(deps: ConsoleDependencies, page: PageRequest): Promise<void> {
  const id = idOf(deps, page)
  if (id !== undefined) await deps.store.write(() => deps.states.remove(kind, id))
  setSessionCookie(deps, page, '', 0)
}

function idOf({ baseUrl }: ConsoleDependencies, page: PageRequest): string | undefined {
  const id = readCookie(page, cookieNamesOf(baseUrl).console)
  return id !== undefined && /^[\w-]{43}$/.test(id) ? id : undefined
}

function setSessionCookie(
  { baseUrl }: ConsoleDependencies,
  page: PageRequest,
  value: string,
  seconds: number,
): void {
  const { console: name } = cookieNamesOf(baseUrl)
  setCookie(baseUrl, page, { name, value, path: '/', seconds, sameSite: 'strict' })
}
