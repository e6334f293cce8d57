import { Code } from '../../../aip/code.ts'
import { canonicalEmail } from '../accounts.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import type { SignInDependencies } from './dependencies.ts'
import { requireInteraction } from './interaction.ts'
import { showLoginError, showLoginForm } from './login-form.ts'
import { loggingRefusal, logRefusal } from './refusals.ts'
import { finishPasswordSignIn } from './second-factor.ts'
import { verifyPassword } from './verify-password.ts'

/** The same message whether the address or the password is wrong. */
const message = 'The e-mail address or the password is wrong.'

export async function signInWithPassword(
  deps: SignInDependencies,
  request: PageRequest,
): Promise<PageResponse> {
  const { address } = request
  const interaction = await requireInteraction(deps, request)
  const form = await request.form()
  const email = canonicalEmail(form.get('email') ?? '')
  try {
    const verified = await verifyPassword(deps, email, form.get('password') ?? '', address)
    if (!verified.person) {
      logRefusal(deps, request, { identity: verified.account, by: 'pwd' }, Code.UNAUTHENTICATED)
      deps.onSignInResult({ by: 'pwd', address, reason: 'wrong address or password' })
      return showLoginForm(deps, interaction, { status: 401, error: { field: 'password', message }, email })
    }
    return await loggingRefusal(deps, request, { identity: verified.person.identity, by: 'pwd' }, () =>
      finishPasswordSignIn(deps, request, interaction, verified),
    )
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email', { email })
  }
}
