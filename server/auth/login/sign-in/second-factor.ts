// The step after a right password. `finishPasswordSignIn`, and `finishNewAccount` for a new
// account, are the only ways from a password to a session. They complete the sign-in of a person
// who has no second factor and needs none, and otherwise show the next page.
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { digestOf } from '../../../crypto/digest.ts'
import { newFactorPage, secondFactorPage } from '../../../pages/sign-in/second-factor.ts'
import type { Work } from '../../../store/work.ts'
import { addConfirmedApp, useAuthenticatorCode } from '../../second-factors/authenticator-app.ts'
import { passkeysOf } from '../../second-factors/passkeys.ts'
import { isRecoveryCode, useRecoveryCode } from '../../second-factors/recovery-codes.ts'
import { requiringOrganizations } from '../../second-factors/requirement.ts'
import { hasSecondFactor, secondFactorsOf } from '../../second-factors/second-factors.ts'
import { base32Of, matchingStep, totpSecretSize, totpUri } from '../../second-factors/totp.ts'
import { secondOf } from '../../sign-out-times.ts'
import { newSignInTime } from '../../sign-outs.ts'
import { attemptAll } from '../../throttle.ts'
import { isExpiredSignIn, plainMessage, sentence } from '../error-response.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { attemptsOf } from '../sign-in-throttles.ts'
import type { NewAccount } from './create-account.ts'
import { createAccount } from './create-account.ts'
import type { SignInDependencies } from './dependencies.ts'
import { finishSignIn } from './finish.ts'
import type { Interaction } from './interaction.ts'
import { pageContextOf, parameterOf, requireInteraction } from './interaction.ts'
import { passkeyOffer } from './passkey-offer.ts'
import type { PendingSignIn } from './pending-sign-in.ts'
import { openPending, requireNotEnded, sealPending } from './pending-sign-in.ts'
import { loggingRefusal, logRefusal } from './refusals.ts'
import type { VerifiedPerson } from './verify-password.ts'

/** Completes the sign-in of a person whose password was right, or asks for the second factor. */
export async function finishPasswordSignIn(
  deps: SignInDependencies,
  request: PageRequest,
  interaction: Interaction,
  { person, passwordHash }: VerifiedPerson,
): Promise<PageResponse> {
  const { identity, email } = person
  const { factors, isRequired, since } = await deps.store.read(function* () {
    return {
      factors: yield* secondFactorsOf(identity),
      isRequired: yield* isFactorRequired(deps, interaction, identity),
      since: yield* newSignInTime(identity, deps.now()),
    }
  })
  const pending = { identity, email, passwordDigest: digestOf(passwordHash), since }
  if (hasSecondFactor(factors)) return showStep(deps, interaction, pending)
  if (!isRequired) return finishPending(deps, request, interaction, 'pwd', pending)
  return showStep(deps, interaction, { ...pending, newSecret: newSecretOf(deps) })
}

/** Completes a sign-in that needs no further factor. */
const finishPending = (
  deps: SignInDependencies,
  request: PageRequest,
  interaction: Interaction,
  by: string,
  pending: PendingSignIn,
) =>
  finishSignIn(deps, request, interaction, by, function* () {
    yield* requireNotEnded(pending)
    return { identity: pending.identity, email: pending.email }
  })

/** Creates the account of an invited person and signs them in; if the organization requires it, with a second factor. */
export async function finishNewAccount(
  deps: SignInDependencies,
  request: PageRequest,
  interaction: Interaction,
  newAccount: NewAccount,
): Promise<PageResponse> {
  if (!(await deps.store.read(() => isFactorRequiredByInvite(deps, interaction))))
    return finishSignIn(deps, request, interaction, 'pwd', () => createAccount(deps, newAccount))
  const { email } = newAccount
  const since = secondOf(deps.now())
  return showStep(deps, interaction, {
    ...{ identity: '', email, newAccount, since, newSecret: newSecretOf(deps) },
  })
}

const newSecretOf = ({ random }: SignInDependencies) => random(totpSecretSize).toString('base64url')

/** Whether an organization requires a second factor of the person, who has a role there or gets it by this sign-in. */
export function* isFactorRequired(
  deps: SignInDependencies,
  interaction: Interaction,
  identity: string,
): Work<boolean> {
  const requiring = yield* requiringOrganizations(identity, deps.now())
  return requiring.length > 0 || (yield* isFactorRequiredByInvite(deps, interaction))
}

function* isFactorRequiredByInvite({ people }: SignInDependencies, interaction: Interaction): Work<boolean> {
  const code = parameterOf(interaction, 'invite')
  return code !== '' && ((yield* people.describeInvite(code))?.requiresSecondFactor ?? false)
}

type StepOptions = { status?: number; message?: string; headers?: Record<string, string> }

/** The page that asks for a code. */
async function showStep(
  deps: SignInDependencies,
  interaction: Interaction,
  pending: PendingSignIn,
  { status = 200, message, headers = {} }: StepOptions = {},
): Promise<PageResponse> {
  const context = await pageContextOf(deps, interaction)
  const sealed = sealPending(deps, interaction, pending)
  if (pending.newSecret !== undefined) {
    const key = keyOf(pending)
    const host = new URL(deps.authUrl).hostname
    const uri = totpUri(key, `Stemma ${host}`, pending.email ?? pending.identity)
    const form = { pending: sealed, message, secret: base32Of(key), uri }
    return { page: newFactorPage(context, form), status, headers }
  }
  const { factors, passkeys } = await deps.store.read(function* () {
    return {
      factors: yield* secondFactorsOf(pending.identity),
      passkeys: yield* passkeysOf(pending.identity),
    }
  })
  const passkey = passkeys.length > 0 ? passkeyOffer(deps, interaction, passkeys, sealed) : undefined
  const form = { pending: sealed, hasAuthenticatorApp: factors.hasAuthenticatorApp, passkey, message }
  return { page: secondFactorPage(context, form), status, headers }
}

/** Continues a sign-in with a code of the authenticator app, or with a recovery code. */
export async function signInWithCode(deps: SignInDependencies, request: PageRequest): Promise<PageResponse> {
  const interaction = await requireInteraction(deps, request)
  const form = await request.form()
  const pending = openPending(deps, interaction, form.get('pending') ?? '')
  const { identity, email, newAccount } = pending
  const code = (form.get('code') ?? '').slice(0, 64)
  const by = isRecoveryCode(code) ? 'recovery' : 'otp'
  // An account that does not exist yet is throttled by its e-mail address.
  const throttled = identity || (email ?? '')
  try {
    const succeed = attemptAll([
      ...attemptsOf(deps.throttles, throttled, request.address),
      [deps.throttles.codes, throttled],
    ])
    if (newAccount) {
      const step = matchingStep(keyOf(pending), code, deps.now())
      if (step === undefined)
        return await showStep(deps, interaction, pending, { status: 401, message: wrongCodeMessage })
      succeed()
      return await finishSignIn(deps, request, interaction, by, function* () {
        const person = yield* createAccount(deps, newAccount)
        // The account may exist already, if the same form was sent twice.
        if (!(yield* addConfirmedApp(deps, person.identity, keyOf(pending), step))) throw hasOtherFactor()
        return person
      })
    }
    // The code is used in a transaction of its own. If a later step fails, it stays used.
    if (!(await deps.store.write(() => useCode(deps, pending, code)))) {
      deps.onSignInResult({ identity, by, address: request.address, reason: 'wrong code' })
      logRefusal(deps, request, { identity, by }, Code.UNAUTHENTICATED)
      return await showStep(deps, interaction, pending, { status: 401, message: wrongCodeMessage })
    }
    succeed()
    return await loggingRefusal(deps, request, { identity, by }, () =>
      finishPending(deps, request, interaction, by, pending),
    )
  } catch (error) {
    if (!(error instanceof StatusError) || isExpiredSignIn(error)) throw error
    const message = sentence(plainMessage(error))
    return showStep(deps, interaction, pending, {
      status: error.http,
      message,
      headers: { ...error.headers },
    })
  }
}

const hasOtherFactor = () =>
  new StatusError(Code.ABORTED, 'a second factor was added to the account in the meantime; sign in with it')

/** The key of the app that the person sets up now. */
const keyOf = ({ newSecret = '' }: PendingSignIn) => Buffer.from(newSecret, 'base64url')

const wrongCodeMessage = 'The code is wrong, or was used before.'

function* useCode(deps: SignInDependencies, pending: PendingSignIn, code: string): Work<boolean> {
  const { identity, newSecret } = pending
  yield* requireNotEnded(pending)
  if (newSecret !== undefined) {
    const key = keyOf(pending)
    const step = matchingStep(key, code, deps.now())
    if (step === undefined) return false
    if (!(yield* addConfirmedApp(deps, identity, key, step))) throw hasOtherFactor()
    return true
  }
  return isRecoveryCode(code)
    ? yield* useRecoveryCode(identity, code)
    : yield* useAuthenticatorCode(deps, identity, code)
}
