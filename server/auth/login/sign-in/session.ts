import type { PageRequest, PageResponse } from '../page-request.ts'
import type { SignInDependencies } from './dependencies.ts'
import { finishSignIn } from './finish.ts'
import { isLoginRequired, refuseSignIn, requireInteraction } from './interaction.ts'
import { showLoginError, showLoginForm } from './login-form.ts'

/** Signs in with the existing session of this browser, after the person has confirmed it. */
export async function continueSession(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  const identity = interaction.session?.accountId
  const person = identity && (await deps.findPerson(identity))
  const session = interaction.session && (await deps.provider().Session.findByUid(interaction.session.uid))
  if (!identity || !person || !session || isLoginRequired(interaction))
    return showLoginForm(deps, interaction)
  try {
    const provider = interaction.session?.acr
    return await finishSignIn(deps, request, interaction, 'session', {
      ...{ identity, email: person.email, provider, since: session.loginTs },
    })
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email')
  }
}

export async function cancelSignIn(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  await requireInteraction(deps, request)
  return refuseSignIn(deps, request, 'access_denied', 'the person cancelled the sign-in')
}
