import { continuePage } from '../../../pages/sign-in/continue.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import type { SignInDependencies } from './dependencies.ts'
import { pageContextOf, parameterOf, requireInteraction } from './interaction.ts'
import { showLoginForm } from './login-form.ts'
import { confirmOrganization } from './organization.ts'
import { findContinuable } from './session.ts'

/**
 * The first page of a sign-in. With `?other`, it is the login form, even if there is a session or a provider was
 * requested.
 */
export async function showSignIn(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  if (request.query.has('other')) return showLoginForm(deps, interaction)
  const session = await findContinuable(deps, interaction)
  if (session) {
    const { email, name } = session.profile
    return { page: continuePage(await pageContextOf(deps, interaction), email ?? name) }
  }
  const provider = parameterOf(interaction, 'idp_id')
  return provider === '' ? showLoginForm(deps, interaction) : confirmOrganization(deps, interaction, provider)
}
