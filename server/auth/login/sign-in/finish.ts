// The last step of every sign-in.
import { StoreError } from '../../../store/store-error.ts'
import type { Work } from '../../../store/work.ts'
import { newSignInTime } from '../../sign-outs.ts'
import type { PageEvent } from '../page-log.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import type { AuthenticatedPerson } from '../people.ts'
import type { SignInDependencies } from './dependencies.ts'
import type { Interaction } from './interaction.ts'
import { parameterOf } from './interaction.ts'

/**
 * Signs a person in. `person` may be work that creates the person. It runs in the transaction that accepts the invite,
 * so the person is not created if the invite is refused. For `by`, see `SignInEvent`.
 */
export async function finishSignIn(
  deps: SignInDependencies,
  request: PageRequest,
  interaction: Interaction,
  by: string,
  person: AuthenticatedPerson | (() => Work<AuthenticatedPerson>),
): Promise<PageResponse> {
  const { people, provider, now } = deps
  const invite = parameterOf(interaction, 'invite')
  const { identity, idp, signedInAt, methods } = await writeWithRetry(deps, function* () {
    const authenticated = typeof person === 'function' ? yield* person() : person
    if (invite !== '') yield* people.acceptInvite(invite, authenticated)
    const { identity, provider: idp, methods } = authenticated
    const event: PageEvent = {
      method: 'sign-in',
      action: 'signed-in',
      identity,
      provider: idp,
      details: { by },
    }
    yield* deps.pageLog.record(request, event)
    const time = yield* newSignInTime(identity, now(), idp)
    // Continuing a session proves nothing new, so the time and the methods stay.
    return { identity, idp, signedInAt: Math.min(time, authenticated.since ?? time), methods }
  })
  const login = { accountId: identity, amr: methods ?? [by], ts: signedInAt }
  const result = { login: { ...login, ...(idp !== undefined && { acr: idp }) }, consent: {} }
  const location = await provider().interactionResult(request.request, request.response, result)
  await endSessionOfOtherPerson(deps, interaction, identity)
  deps.recordLastSeen(identity)
  deps.onSignInResult({ identity, by, address: request.address })
  return { location }
}

/** Two concurrent first sign-ins of a person both create the identity. One fails, and its retry finds the identity. */
async function writeWithRetry<T>({ store }: SignInDependencies, work: () => Work<T>): Promise<T> {
  try {
    return await store.write(work)
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'unique') return store.write(work)
    throw error
  }
}

/** Ends the session of another person in this browser, which the sign-in replaces. */
async function endSessionOfOtherPerson(
  { provider }: SignInDependencies,
  { session }: Interaction,
  identity: string,
): Promise<void> {
  if (!session?.accountId || session.accountId === identity) return
  const previous = await provider().Session.findByUid(session.uid)
  if (!previous) return
  // `destroy` deletes the session from the store. `persist` keeps it, without its account, in a cookie
  // (sealed-states.ts).
  await previous.destroy()
  // The types do not allow undefined, but oidc-provider uses it for a session without account.
  previous.accountId = undefined as never
  previous.authorizations = undefined as never
  await previous.persist()
}
