// Sign-in with a passkey, as the only factor or after the password. The authenticator has verified the person, so a
// passkey is two factors by itself.
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { passkeyScript } from '../../../pages/sign-in/passkey.ts'
import type { Work } from '../../../store/work.ts'
import type { Passkey } from '../../second-factors/passkeys.ts'
import { findPasskey, recordPasskeyUse } from '../../second-factors/passkeys.ts'
import type { Assertion } from '../../second-factors/webauthn.ts'
import { readAssertion, relyingPartyOf, verifyAssertion } from '../../second-factors/webauthn.ts'
import { attemptAll } from '../../throttle.ts'
import type { LoginAddress } from '../accounts.ts'
import { findAccount, loginAddressOf } from '../accounts.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import type { AuthenticatedPerson } from '../people.ts'
import { attemptsOf } from '../sign-in-throttles.ts'
import type { SignInDependencies } from './dependencies.ts'
import { finishSignIn } from './finish.ts'
import type { Interaction } from './interaction.ts'
import { requireInteraction } from './interaction.ts'
import { showLoginError } from './login-form.ts'
import { isChallenge, useChallenge } from './passkey-challenge.ts'
import { openPending } from './pending-sign-in.ts'
import { logRefusal } from './refusals.ts'

export async function servePasskeyScript(): Promise<PageResponse> {
  return { script: passkeyScript, headers: { 'cache-control': 'no-cache' } }
}

export async function signInWithPasskey(
  deps: SignInDependencies,
  request: PageRequest,
): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  const form = await request.form()
  const sealed = form.get('pending') ?? ''
  // After the password, only a passkey of the same person is accepted.
  const expected = sealed === '' ? undefined : openPending(deps, interaction, sealed).identity
  try {
    const succeed = attemptAll(attemptsOf(deps.throttles, undefined, request.address))
    const presented = await readPresented(deps, form.get('response') ?? '')
    try {
      const person = await verify(deps, interaction, presented, expected)
      succeed()
      return await finishSignIn(deps, request, interaction, 'hwk', person)
    } catch (error) {
      if (error instanceof StatusError)
        reportRefusal(deps, request, expected ?? presented?.passkey.identity, error.code)
      throw error
    }
  } catch (error) {
    return showLoginError(deps, interaction, error, 'email')
  }
}

function reportRefusal(
  deps: SignInDependencies,
  request: PageRequest,
  identity: string | undefined,
  code: number,
): void {
  const by = 'hwk'
  if (code === Code.UNAUTHENTICATED) {
    const { address } = request
    deps.onSignInResult({ ...(identity !== undefined && { identity }), by, address, reason: 'wrong passkey' })
  }
  logRefusal(deps, request, { identity, by }, code)
}

/** The response of an authenticator, and the stored passkey that it names. */
type Presented = { assertion: Assertion; passkey: Passkey }

async function readPresented(
  { store }: SignInDependencies,
  responseJson: string,
): Promise<Presented | undefined> {
  const assertion = readAssertion(responseJson)
  const passkey = assertion && (await store.read(() => findPasskey(assertion.credentialId)))
  return passkey && { assertion, passkey }
}

/** The same error whatever is wrong, so that it does not say whether a passkey or an account exists. */
const refused = () =>
  new StatusError(Code.UNAUTHENTICATED, 'this passkey cannot be used here; sign in with your password')

/**
 * Returns work for the transaction of the sign-in: it marks the challenge as used, records the use
 * of the passkey, and returns the person.
 */
async function verify(
  deps: SignInDependencies,
  interaction: Interaction,
  presented: Presented | undefined,
  expected: string | undefined,
): Promise<() => Work<AuthenticatedPerson>> {
  if (!presented || (expected !== undefined && presented.passkey.identity !== expected)) throw refused()
  const { assertion, passkey } = presented
  const counter = await verifyAssertion(
    relyingPartyOf(deps.authUrl, deps.baseUrl),
    assertion,
    passkey,
    (challenge) => isChallenge(deps, interaction, challenge),
  )
  if (counter === undefined) throw refused()
  return function* () {
    if (!(yield* useChallenge(deps.states, challengeOf(assertion)))) throw refused()
    if (!(yield* recordPasskeyUse(passkey.id, counter, deps.now()))) throw refused()
    const { identity } = passkey
    const address = yield* loginAddressOf(identity)
    // The account was deleted, because the operator has made another one with its address.
    if (!address) throw refused()
    return { identity, email: yield* verifiedAddressOf(address) }
  }
}

function challengeOf({ response }: Assertion): string {
  const { challenge } = JSON.parse(Buffer.from(response.response.clientDataJSON, 'base64url').toString())
  return String(challenge)
}

/** The address that the operator vouches for, as in a sign-in with the password. */
function* verifiedAddressOf({ email, isUnverified }: LoginAddress): Work<string | undefined> {
  if (isUnverified) return undefined
  return (yield* findAccount(email))?.isVouched ? email : undefined
}
