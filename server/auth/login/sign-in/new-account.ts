import { Code } from '../../../aip/code.ts'
import { malformed } from '../../../aip/errors.ts'
import type { FieldError } from '../../../pages/fields.ts'
import { canonicalEmail, isEmail } from '../accounts.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { passwordFault } from '../passwords.ts'
import type { SignInDependencies } from './dependencies.ts'
import { parameterOf, requireInteraction } from './interaction.ts'
import { showLoginError, showLoginForm } from './login-form.ts'
import { loggingRefusal, logRefusal } from './refusals.ts'
import { finishNewAccount, finishPasswordSignIn } from './second-factor.ts'
import { verifyPassword } from './verify-password.ts'

/** Creates an account for an invited person and signs them in. */
export async function signInWithNewAccount(
  deps: SignInDependencies,
  request: PageRequest,
): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  const form = await request.form()
  const email = canonicalEmail(form.get('email') ?? '')
  const password = form.get('password') ?? ''
  const invite = parameterOf(interaction, 'invite')
  if (invite === '') throw malformed('an account can only be made with an invite')
  const error = fieldErrorOf(email, password)
  if (error) return showLoginForm(deps, interaction, { status: 400, error, email })
  try {
    // If an account with this address and password exists, the person signs in to it. Otherwise a new account is
    // created, even if the address has other accounts, so the response does not reveal whether it has any. Creating
    // an account counts as a wrong password, because a guesser could try passwords in this way.
    const verified = await verifyPassword(deps, email, password, request.address)
    if (verified.person)
      return await loggingRefusal(deps, request, { identity: verified.person.identity, by: 'pwd' }, () =>
        finishPasswordSignIn(deps, request, interaction, verified),
      )
    if (verified.account !== undefined) {
      logRefusal(deps, request, { identity: verified.account, by: 'pwd' }, Code.UNAUTHENTICATED)
      deps.onSignInResult({ by: 'pwd', address: request.address, reason: 'wrong address or password' })
    }
    const account = { email, passwordHash: verified.newAccountHash }
    return await finishNewAccount(deps, request, interaction, account)
  } catch (error) {
    return showLoginError(deps, interaction, error, 'new-email', { email })
  }
}

function fieldErrorOf(email: string, password: string): FieldError | undefined {
  if (!isEmail(email)) return { field: 'new-email', message: 'The e-mail address is not valid.' }
  const fault = passwordFault(password, email)
  return fault === undefined ? undefined : { field: 'new-password', message: `The password ${fault}.` }
}
