import { endBrowserSession } from '../../sign-in-records.ts'
import { endOneSignIn, signOutEverywhere } from '../../sign-outs.ts'
import { cookieNamesOf, readCookie, setCookie } from '../cookies.ts'
import type { PageEvent } from '../page-log.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { forgetSession } from '../provider/record-sign-ins.ts'
import { requireOwnRequest } from './own-request.ts'
import type { ConsoleDependencies } from './session.ts'
import { findConsoleSession, forgetConsoleSession } from './session.ts'

/**
 * Ends the session of the browser, in the console and at the sign-in pages, and its access tokens. With `?everywhere`,
 * all sessions and tokens of the person end, on all machines.
 */
export async function signOutOfConsole(deps: ConsoleDependencies, page: PageRequest): Promise<PageResponse> {
  requireOwnRequest(page)
  const { store, now, pageLog } = deps
  const session = await findConsoleSession(deps, page)
  if (session) {
    const { signIn, browserSession } = session
    const { person: identity, provider } = signIn
    const by = page.query.has('everywhere') ? 'everywhere' : 'console'
    const event: PageEvent = {
      method: 'console/sign-out',
      action: 'signed-out',
      identity,
      provider,
      details: { by },
    }
    await store.write(function* () {
      yield* by === 'everywhere' ? signOutEverywhere(identity, now()) : endOneSignIn(signIn.id, now())
      // The console may be at another host than the sign-in pages. Then this request has no cookie of theirs.
      if (browserSession !== undefined) yield* endBrowserSession(browserSession)
      yield* pageLog.record(page, event)
    })
  }
  await forgetConsoleSession(deps, page)
  await forgetSignInSession(deps, page)
  return { json: {} }
}

/**
 * Ends the session at the sign-in pages. Otherwise the next user of the browser could sign in with
 * one click. It is found by its cookie, since the session of the console may have expired.
 */
async function forgetSignInSession(
  { store, states, authUrl }: ConsoleDependencies,
  page: PageRequest,
): Promise<void> {
  const { session } = cookieNamesOf(authUrl)
  const id = readCookie(page, session)
  if (id === undefined) return
  await store.write(function* () {
    yield* forgetSession(states, id)
    yield* states.remove('Session', id)
  })
  setCookie(authUrl, page, { name: session, value: '', path: '/', seconds: 0 })
}
