import { digestOf } from '../../../crypto/digest.ts'
import { networkOf } from '../../client-network.ts'
import type { Attempt } from '../../throttle.ts'
import { attemptAll } from '../../throttle.ts'
import type { Account } from '../accounts.ts'
import { canonicalEmail, findAccount } from '../accounts.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import type { SignInDependencies } from './dependencies.ts'
import { finishSignIn } from './finish.ts'
import { requireInteraction } from './interaction.ts'
import { showLoginError, showLoginForm } from './login-form.ts'

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
    const account = await verifyPassword(deps, email, form.get('password') ?? '', address)
    if (!account) {
      deps.onSignIn({ by: 'pwd', address, reason: 'wrong address or password' })
      return showLoginForm(deps, interaction, { status: 401, error: { field: 'password', message }, email })
    }
    return await finishSignIn(deps, request, interaction, 'pwd', { identity: account.identity, email })
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email', { email })
  }
}

/** The account, if the password is right. */
async function verifyPassword(
  { store, passwords, throttles }: SignInDependencies,
  email: string,
  password: string,
  address: string,
): Promise<Account | undefined> {
  const key = digestOf(email)
  // The limits of an address are lower than that of the account, so a guesser is locked out before the account is.
  const attempts: Attempt[] = [
    [throttles.perAddress, address],
    [throttles.perAccountAndAddress, `${key} ${networkOf(address)}`],
    [throttles.perAccount, key],
  ]
  const succeed = attemptAll(attempts)
  const account = await store.read(() => findAccount(email))
  if (!(await passwords.verify(password, account?.password)) || !account) return undefined
  succeed()
  return account
}
