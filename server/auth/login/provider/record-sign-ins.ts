// Stores records of the sign-ins at oidc-provider, which people see as their sessions
// (sign-in-records.ts). In oidc-provider, the sign-in of a browser is a session, and that of a
// program is a grant.
import type { AdapterPayload } from 'oidc-provider'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { printableUserAgent } from '../../../wire/user-agent.ts'
import { browserSessionId, putSignInRecord, recordUse } from '../../sign-in-records.ts'
import { tokenLifetimeSeconds } from '../../tokens/mint.ts'
import { sessionLifetimeSeconds } from '../console/session.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import { signInIdOf } from '../expiring-states.ts'
import type { PageRequest } from '../page-request.ts'
import { consoleClient, publishedClient } from './clients.ts'

type Request = { page: PageRequest; now: number }

/** Address and user agent of a request, as records contain them. */
export const clientOf = ({ address, request }: PageRequest) => ({
  address,
  userAgent: printableUserAgent(request.headers['user-agent'] ?? ''),
})

/**
 * Stores or updates the record of the sign-in whose state oidc-provider stores. States other
 * than sessions, grants and refresh tokens are ignored.
 */
export function* recordSignIn(
  kind: string,
  payload: AdapterPayload,
  seconds: number,
  { page, now }: Request,
): Work<void> {
  const { accountId, clientId = '', uid, grantId } = payload
  if (kind === 'Session' && accountId !== undefined && uid !== undefined)
    yield* putSignInRecord({
      ...{ id: browserSessionId(uid), identity: accountId, isBrowser: true, client: '', ...clientOf(page) },
      ...{ createTime: now, useTime: now, expireTime: now + seconds * 1000 },
    })
  // Sign-ins of published clients are recorded where their tokens are issued (published/tokens.ts).
  if (kind === 'Grant' && accountId !== undefined && clientId !== publishedClient)
    yield* recordProgram(signInIdOf(payload.jti ?? ''), accountId, clientId, { page, now })
  if (kind === 'RefreshToken' && grantId !== undefined)
    yield* recordUse(signInIdOf(grantId), {
      ...{ ...clientOf(page), useTime: now, expireTime: now + seconds * 1000 },
    })
}

/** Stores the record of a sign-in to the console that was not made at oidc-provider. */
export const recordConsoleSignIn = (id: string, identity: string, request: Request) =>
  recordProgram(id, identity, consoleClient, request)

function* recordProgram(id: string, identity: string, client: string, { page, now }: Request): Work<void> {
  const times = { createTime: now, useTime: now, expireTime: now + lifetimeOf(client) }
  yield* putSignInRecord({ id, identity, isBrowser: false, client, ...clientOf(page), ...times })
}

/** Records that the console got another token. */
export const recordConsoleUse = (id: string, { page, now }: Request) =>
  recordUse(id, { ...clientOf(page), useTime: now })

/**
 * In milliseconds: the lifetime of an access token or, for the console, of its session. A refresh
 * token extends it.
 */
const lifetimeOf = (client: string) =>
  (client === consoleClient ? sessionLifetimeSeconds : tokenLifetimeSeconds) * 1000

/** Deletes the record of a session that ends. */
export function* forgetSession(states: ExpiringStates, id: string): Work<void> {
  const uid = (yield* states.find('Session', id))?.payload.uid
  if (typeof uid === 'string') yield sql`delete from sign_ins where id = ${browserSessionId(uid)}`
}
