import type { Work } from '../../../store/work.ts'
import { hasSecondFactor, secondFactorsOf } from '../../second-factors/second-factors.ts'
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
  sessionUid: string
}

/**
 * The session of this browser. Undefined if the person must prove again who they are: because the program asks for it,
 * or because they have no second factor and need one by now.
 */
export async function findContinuable(
  deps: SignInDependencies,
  interaction: Interaction,
): Promise<ContinuableSession | undefined> {
  const { accountId: identity, acr: provider, uid: sessionUid } = interaction.session ?? {}
  if (!identity || !sessionUid || isLoginRequired(interaction)) return undefined
  const profile = await deps.findPerson(identity)
  if (!profile || (!provider && (await deps.store.read(() => lacksFactor(deps, interaction, identity)))))
    return undefined
  return { identity, profile, provider, sessionUid }
}

function* lacksFactor(deps: SignInDependencies, interaction: Interaction, identity: string): Work<boolean> {
  if (hasSecondFactor(yield* secondFactorsOf(identity))) return false
  return yield* isFactorRequired(deps, interaction, identity)
}

/** Signs in with the existing session of this browser, after the person has confirmed it. */
export async function continueSession(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  const found = await findContinuable(deps, interaction)
  const session = found && (await deps.provider().Session.findByUid(found.sessionUid))
  if (!found || !session) return showLoginForm(deps, interaction)
  try {
    const { identity, profile, provider } = found
    return await finishSignIn(deps, request, interaction, 'session', {
      ...{ identity, email: profile.email, provider, since: session.loginTs },
    })
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email')
  }
}

export async function cancelSignIn(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  await requireInteraction(deps, request)
  return refuseSignIn(deps, request, 'access_denied', 'the person cancelled the sign-in')
}
