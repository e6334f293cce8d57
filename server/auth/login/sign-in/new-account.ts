import { malformed } from '../../../aip/errors.ts'
import type { FieldError } from '../../../pages/fields.ts'
import type { Work } from '../../../store/work.ts'
import { canonicalEmail, claimAddress, isEmail } from '../accounts.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { passwordFault } from '../passwords.ts'
import type { Guest } from '../people.ts'
import type { SignInDependencies } from './dependencies.ts'
import { finishSignIn } from './finish.ts'
import { parameterOf, requireInteraction } from './interaction.ts'
import { showLoginError, showLoginForm } from './login-form.ts'

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
    // Limited, since the response reveals whether an address is taken.
    deps.throttles.perAddress.attempt(request.address)
    const passwordHash = await deps.passwords.hash(password)
    return await finishSignIn(deps, request, interaction, 'pwd', () =>
      createAccount(deps, { invite, email, passwordHash }),
    )
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email', { email })
  }
}

function fieldErrorOf(email: string, password: string): FieldError | undefined {
  if (!isEmail(email)) return { field: 'new-email', message: 'The e-mail address is not valid.' }
  const fault = passwordFault(password, email)
  return fault === undefined ? undefined : { field: 'new-password', message: `The password ${fault}.` }
}

type NewAccount = { invite: string; email: string; passwordHash: string }

function* createAccount(deps: SignInDependencies, { invite, email, passwordHash }: NewAccount): Work<Guest> {
  // Checked first, so that only invited people learn whether an address is taken.
  yield* deps.people.requireInvite(invite, email)
  const identity = yield* claimAddress(deps, { issuer: deps.authUrl, address: email, passwordHash })
  if (identity === undefined)
    throw malformed('no account can be made with this address; if you have one, sign in with it')
  // Unverified, but an invite that is limited to an address was sent to that address.
  return { identity, email }
}
