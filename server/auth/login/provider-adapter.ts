// The state of oidc-provider, kept in our store.
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'
import { errors } from 'oidc-provider'
import type { Store } from '../../store/db.ts'
import type { Work } from '../../store/work.ts'
import type { Payload, State, States } from './states.ts'

/** Grants live as long as the longest of what they grant. */
const longest = 30 * 24 * 60 * 60

export function adapterOf(store: Store, states: States): AdapterFactory {
  return (kind): Adapter => {
    const find = async (work: () => Work<State | undefined>) => asPayload(await store.read(work))
    return {
      upsert: (id, payload, seconds = longest) =>
        store.write(() =>
          states.put(kind, id, payload as Payload, seconds, {
            grant: payload.grantId ?? (kind === 'Grant' ? id : undefined),
            userCode: payload.userCode,
            sessionUid: payload.uid,
            identity: payload.accountId,
          }),
        ),
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

function asPayload(state: State | undefined): AdapterPayload | undefined {
  if (!state) return undefined
  const { payload, useTime } = state
  return {
    ...payload,
    ...(useTime !== undefined && { consumed: Math.floor(useTime / 1000) }),
  } as AdapterPayload
}
