// The state of oidc-provider, kept in our store.
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'
import { errors } from 'oidc-provider'
import type { Store } from '../../store/db.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Work } from '../../store/work.ts'
import type { Payload, State, States } from './states.ts'

/** Grants live as long as the longest of what they grant. */
const longest = 30 * 24 * 60 * 60

export function adapterOf(store: Store, states: States): AdapterFactory {
  return (kind): Adapter => {
    const find = async (work: () => Work<State | undefined>) => asPayload(await store.read(work))
    return {
      async upsert(id, payload, seconds = longest) {
        const handles = {
          grant: payload.grantId ?? (kind === 'Grant' ? id : undefined),
          userCode: payload.userCode,
          sessionUid: payload.uid,
          identity: payload.accountId ?? loginOf(payload)?.accountId ?? payload.session?.accountId,
        }
        try {
          await store.write(() => states.put(kind, id, payload as Payload, seconds, handles))
        } catch (error) {
          const isGone = error instanceof StoreError && error.kind === 'foreign-key'
          throw isGone ? new errors.SessionNotFound('whoever signed in is gone') : error
        }
      },
      find: (id) => find(() => states.find(kind, id)),
      findByUserCode: (userCode) => find(() => states.findByUserCode(kind, userCode)),
      findByUid: (uid) => find(() => states.findBySessionUid(kind, uid)),
      /**
       * Two who redeem the same at once, perhaps at two servers, both found it unused. One of them has stolen it,
       * so that nothing that came of it stays good: as for one who comes later.
       */
      async consume(id) {
        const isFirst = await store.write(function* () {
          const state = yield* states.find(kind, id)
          if (state && (yield* states.use(kind, id))) return true
          const grant = state?.payload.grantId
          if (typeof grant === 'string') yield* states.removeByGrant(grant)
          return false
        })
        if (!isFirst) throw new errors.InvalidGrant('it was used before')
      },
      destroy: (id) => store.write(() => states.remove(kind, id)),
      revokeByGrantId: (grant) => store.write(() => states.removeByGrant(grant)),
    }
  }
}

type Login = { accountId: string; ts?: number }

/** Who has signed in at the page, before the provider has heard of it. */
const loginOf = ({ result }: AdapterPayload) => (result as { login?: Login } | undefined)?.login

/** Nothing that comes of a sign-in is good any more once its person was signed out everywhere. */
function asPayload(state: State | undefined): AdapterPayload | undefined {
  if (!state) return undefined
  const { useTime, signedOut } = state
  const payload = state.payload as AdapterPayload
  const since = payload.loginTs ?? payload.authTime ?? loginOf(payload)?.ts
  if (signedOut !== undefined && typeof since === 'number' && since <= signedOut) return undefined
  return { ...payload, ...(useTime !== undefined && { consumed: Math.floor(useTime / 1000) }) }
}
