// Keeps the state of oidc-provider: in our store if it belongs to a person or is a device code, in cookies otherwise.
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { retryHeaders, StatusError } from '../../../aip/errors.ts'
import type { Store } from '../../../store/db.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { Work } from '../../../store/work.ts'
import { networksOf } from '../../../wire/client-network.ts'
import { isInGracePeriod } from '../../refresh/grace.ts'
import type { BrowserDependencies } from '../browser.ts'
import { isSameBrowser, rememberBrowser } from '../browser.ts'
import { plainMessage } from '../error-response.ts'
import type { ExpiringState, ExpiringStates, Payload, StateKeys } from '../expiring-states.ts'
import type { PageRequest } from '../page-request.ts'
import type { SealedStates } from '../sealed-states.ts'
import { isSealedKind } from '../sealed-states.ts'
import { identityOf, loginOf, providerOf } from '../state-identity.ts'
import { forgetSession, recordSignIn } from './record-sign-ins.ts'
import { findRefreshToken, refreshTokenKind } from './refresh-tokens.ts'

/** For states that oidc-provider stores without a lifetime: the lifetime of refresh tokens, which is the longest. */
const defaultLifetimeSeconds = 30 * 24 * 60 * 60

/** The maximum length of the state of a device code, in characters of JSON. Anyone can make the server store one. */
const maxDeviceCodeLength = 4096

export type AdapterDependencies = BrowserDependencies & {
  store: Store
  states: ExpiringStates
  sealedStates: SealedStates
  /** The id of the token that replaces a refresh token. */
  successorOf(id: string): string
  now(): number
  /** The request that is being answered. */
  currentPage(): PageRequest
}

export function adapterOf(deps: AdapterDependencies): AdapterFactory {
  const { store, states, sealedStates, currentPage } = deps
  return (kind): Adapter => {
    const find = async (work: () => Work<ExpiringState | undefined>) => payloadOf(await store.read(work))
    const findById = (id: string) =>
      kind === refreshTokenKind ? findRefreshToken(deps, id) : states.find(kind, id)
    // Every step of a sign-in must come from the browser that began it. oidc-provider calls `find` at each step.
    const isBoundToBrowser = kind === 'Interaction'
    const removeSealed = (id: string) => isSealedKind(kind) && sealedStates.remove(kind, id)
    return {
      async upsert(id, payload, seconds = defaultLifetimeSeconds) {
        const keys = keysOf(kind, id, payload)
        // Read here: the work below may run outside of the request.
        const page = currentPage()
        const state = {
          ...payload,
          ...(isBoundToBrowser && { browser: rememberBrowser(deps, currentPage()) }),
        } as Payload
        if (keys.identity === undefined) {
          if (isSealedKind(kind)) return sealedStates.put(kind, id, state, seconds)
          requireShort(payload)
          keys.networks = networksOf(currentPage().address)
        }
        await store
          .write(function* () {
            yield* states.put(kind, id, state, seconds, keys)
            yield* recordSignIn(kind, payload, seconds, { page, now: deps.now() })
          })
          .catch((error: unknown) => throwForClient(error, currentPage()))
        removeSealed(id)
      },
      async find(id) {
        const sealed = isSealedKind(kind) ? sealedStates.find(kind, id) : undefined
        const payload = (sealed as AdapterPayload | undefined) ?? (await find(() => findById(id)))
        const isOfOtherBrowser =
          isBoundToBrowser && !isSameBrowser(deps.authUrl, currentPage(), payload?.browser)
        return isOfOtherBrowser ? undefined : payload
      },
      findByUserCode: (userCode) => find(() => states.findByUserCode(kind, userCode)),
      findByUid: (uid) => find(() => states.findBySessionUid(kind, uid)),
      async consume(id) {
        if (!(await store.write(() => useOnce(deps, kind, id))))
          throw new errors.InvalidGrant('the code or token was used before')
      },
      async destroy(id) {
        if (removeSealed(id)) return
        await store.write(function* () {
          if (kind === 'Session') yield* forgetSession(states, id)
          yield* states.remove(kind, id)
        })
      },
      revokeByGrantId: (grant) => store.write(() => states.removeByGrant(grant)),
    }
  }
}

/** Converts the errors that a client can cause into errors of oidc-provider, and rethrows all others. */
function throwForClient(error: unknown, { response }: PageRequest): never {
  if (error instanceof StoreError && error.kind === 'foreign-key')
    throw new errors.SessionNotFound('the identity was deleted')
  if (!(error instanceof StatusError) || error.http !== 429) throw error
  for (const [name, value] of Object.entries(retryHeaders(error))) response.setHeader(name, value)
  const refusal = new errors.CustomOIDCProviderError('temporarily_unavailable', plainMessage(error))
  throw Object.assign(refusal, { status: error.http, statusCode: error.http })
}

function requireShort(payload: AdapterPayload): void {
  if (JSON.stringify(payload).length > maxDeviceCodeLength)
    throw new errors.InvalidRequest(`the parameters are too large: at most ${maxDeviceCodeLength} characters`)
}

function keysOf(kind: string, id: string, payload: AdapterPayload): StateKeys {
  return {
    grant: payload.grantId ?? (kind === 'Grant' ? id : undefined),
    userCode: payload.userCode,
    sessionUid: payload.uid,
    identity: identityOf(payload as Payload),
    provider: providerOf(payload as Payload),
  }
}

/**
 * Returns false for a second use, even if it is concurrent and on another copy of the server. A second use means that
 * the code or token was stolen, so its grant is revoked with everything that was issued for it. A refresh token may be
 * used again within its grace period.
 */
function* useOnce({ states, now }: AdapterDependencies, kind: string, id: string): Work<boolean> {
  if (yield* states.use(kind, id)) return true
  const state = yield* states.find(kind, id)
  if (kind === refreshTokenKind && state && isInGracePeriod(state.useTime, now())) return true
  const grant = state?.payload.grantId
  if (typeof grant === 'string') yield* states.removeByGrant(grant)
  return false
}

/** Undefined if the person has been signed out since this sign-in (`ExpiringState.signedOutAt`). */
function payloadOf(state: ExpiringState | undefined): AdapterPayload | undefined {
  if (!state) return undefined
  const { useTime, signedOutAt } = state
  const payload = state.payload as AdapterPayload
  const signedInAt = payload.loginTs ?? payload.authTime ?? loginOf(state.payload)?.ts
  if (signedOutAt !== undefined && typeof signedInAt === 'number' && signedInAt <= signedOutAt)
    return undefined
  return { ...payload, ...(useTime !== undefined && { consumed: Math.floor(useTime / 1000) }) }
}
