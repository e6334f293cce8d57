import { provesSecondFactor } from '../../second-factors/requirement.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import type { Profile } from '../people.ts'
import type { SignInDependencies } from './dependencies.ts'
import { finishSignIn } from './finish.ts'
import type { Interaction } from './interaction.ts'
import { isLoginRequired, refuseSignIn, requireInteraction } from './interaction.ts'
import { showLoginError, showLoginForm } from './login-form.ts'
import { isFactorRequired } from './second-factor.ts'

type ContinuableSession = {
  identity: string
  profile: Profile
  provider: string | undefined
  methods: string[]
  sessionUid: string
}

/**
 * The session of this browser. Undefined if the person must prove again who they are: because the program asks for it,
 * or because they need a second factor by now, which the session has not proven.
 */
export async function findContinuable(
  deps: SignInDependencies,
  interaction: Interaction,
): Promise<ContinuableSession | undefined> {
  const { accountId: identity, acr: provider, amr: methods = [], uid: sessionUid } = interaction.session ?? {}
  if (!identity || !sessionUid || isLoginRequired(interaction)) return undefined
  const profile = await deps.findPerson(identity)
  const needsNoFactor = provider !== undefined || provesSecondFactor(methods)
  const lacksFactor =
    !needsNoFactor && (await deps.store.read(() => isFactorRequired(deps, interaction, identity)))
  return profile && !lacksFactor ? { identity, profile, provider, methods, sessionUid } : undefined
}

/** Signs in with the existing session of this browser, after the person has confirmed it. */
export async function continueSession(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  const found = await findContinuable(deps, interaction)
  const session = found && (await deps.provider().Session.findByUid(found.sessionUid))
  if (!found || !session) return showLoginForm(deps, interaction)
  try {
    const { identity, profile, provider, methods } = found
    return await finishSignIn(deps, request, interaction, 'session', {
      ...{ identity, email: profile.email, provider, methods, since: session.loginTs },
    })
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email')
  }
}

export async function cancelSignIn(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  await requireInteraction(deps, request)
  return refuseSignIn(deps, request, 'access_denied', 'the person cancelled the sign-in')
}
