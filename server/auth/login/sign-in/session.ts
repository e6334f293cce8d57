import { provesSecondFactor } from '../../second-factors/requirement.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import type { Profile } from '../people.ts'
import type { SignInDependencies } from './dependencies.ts'
import { finishSignIn } from './finish.ts'
import type { Interaction } from './interaction.ts'
import { isLoginRequired, parameterOf, refuseSignIn, requireInteraction } from './interaction.ts'
import { showLoginError, showLoginForm } from './login-form.ts'
import { loggingRefusal } from './refusals.ts'
import { isFactorRequired } from './second-factor.ts'

type ContinuableSession = {
  identity: string
  profile: Profile
  provider: string | undefined
  methods: string[]
  /** When the person last proved who they are, in seconds since 1970. */
  since: number
}

/**
 * The session of this browser. Undefined if the person must prove again who they are: because the program asks for it,
 * because the session is older than the program allows, or because they need a second factor by now, which the session
 * has not proven.
 */
export async function findContinuable(
  deps: SignInDependencies,
  interaction: Interaction,
): Promise<ContinuableSession | undefined> {
  const { accountId: identity, acr: provider, amr: methods = [], uid: sessionUid } = interaction.session ?? {}
  if (!identity || !sessionUid || isLoginRequired(interaction)) return undefined
  const since = (await deps.provider().Session.findByUid(sessionUid))?.loginTs
  if (since === undefined || isTooOld(interaction, since, deps.now())) return undefined
  const profile = await deps.findPerson(identity)
  const needsNoFactor = provider !== undefined || provesSecondFactor(methods)
  const lacksFactor =
    !needsNoFactor && (await deps.store.read(() => isFactorRequired(deps, interaction, identity)))
  return profile && !lacksFactor ? { identity, profile, provider, methods, since } : undefined
}

/** Whether a sign-in at `since` is older than the `max_age` of the authorization request (OpenID Connect Core 3.1.2.1). */
function isTooOld(interaction: Interaction, since: number, now: number): boolean {
  const maxAge = parameterOf(interaction, 'max_age')
  return maxAge !== '' && now / 1000 - since > Number(maxAge)
}

/** Signs in with the existing session of this browser, after the person has confirmed it. */
export async function continueSession(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  const session = await findContinuable(deps, interaction)
  if (!session) return showLoginForm(deps, interaction)
  try {
    const { identity, profile, provider, methods, since } = session
    const person = { identity, email: profile.email, provider, methods, since }
    return await loggingRefusal(deps, request, { identity, by: 'session', provider }, () =>
      finishSignIn(deps, request, interaction, 'session', person),
    )
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email')
  }
}

export async function cancelSignIn(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  await requireInteraction(deps, request)
  return refuseSignIn(deps, request, 'access_denied', 'the person cancelled the sign-in')
}
