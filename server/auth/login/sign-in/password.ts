import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { canonicalEmail } from '../accounts.ts'
import type { PageEvent } from '../page-log.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import type { SignInDependencies } from './dependencies.ts'
import { requireInteraction } from './interaction.ts'
import { showLoginError, showLoginForm } from './login-form.ts'
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
      logRefusal(deps, request, verified.account, Code.UNAUTHENTICATED)
      deps.onSignInResult({ by: 'pwd', address, reason: 'wrong address or password' })
      return showLoginForm(deps, interaction, { status: 401, error: { field: 'password', message }, email })
    }
    return await finishPasswordSignIn(deps, request, interaction, verified).catch((error: unknown) => {
      if (error instanceof StatusError) logRefusal(deps, request, verified.person.identity, error.code)
      throw error
    })
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email', { email })
  }
}

/** Records nothing without an identity: it is not known then whose log the event belongs to. */
function logRefusal(
  { pageLog }: SignInDependencies,
  request: PageRequest,
  identity: string | undefined,
  code: number,
): void {
  if (identity === undefined) return
  const event: PageEvent = { method: 'sign-in', action: 'refused', identity, code, details: { by: 'pwd' } }
  pageLog.addRefused(request, event)
}
