// The pages after a right password: the second factor, or setting one up if an organization requires it.
import { alert } from '../fields.ts'
import type { Page } from '../frame.ts'
import type { Html } from '../html.ts'
import { html } from '../html.ts'
import type { SignInContext } from './context.ts'
import { cancelForm, notices } from './context.ts'
import type { PasskeyOffer } from './passkey.ts'
import { passkeyForm } from './passkey.ts'

export type SecondFactorForm = {
  /** The sign-in that waits, encrypted. */
  pending: string
  hasAuthenticatorApp: boolean
  /** Undefined if the person has no passkey. */
  passkey: PasskeyOffer | undefined
  message: string | undefined
}

export const secondFactorPage = (context: SignInContext, form: SecondFactorForm): Page => ({
  title: 'Second factor',
  body: html`${alert(form.message)}${notices(context)}
${codeForm(context, form, labelOf(form))}
${form.passkey && passkeyForm(context, form.passkey)}
${cancelForm(context)}`,
})

const labelOf = ({ hasAuthenticatorApp }: SecondFactorForm) =>
  hasAuthenticatorApp ? 'Code of your authenticator app, or a recovery code' : 'Recovery code'

type CodeForm = Pick<SecondFactorForm, 'pending' | 'message'>

const codeForm = (
  { path }: SignInContext,
  { pending, message }: CodeForm,
  label: string,
): Html => html`<form method="post" action="${path}/second-factor">
<input type="hidden" name="pending" value="${pending}">
<label for="code">${label}</label>
<input class="code" id="code" name="code" required autofocus autocomplete="one-time-code" autocapitalize="none"
  spellcheck="false" maxlength="40" ${message && html`aria-invalid="true" aria-describedby="problem"`}>
<button>Continue</button>
</form>`

export type NewFactorForm = CodeForm & {
  /** In base32. */
  secret: string
  /** The `otpauth:` URI that contains the secret. */
  uri: string
}

export const newFactorPage = (context: SignInContext, form: NewFactorForm): Page => ({
  title: 'Set up a second factor',
  body: html`${alert(form.message)}${notices(context)}
<p>Your organization requires a second factor. Add this secret to an authenticator app, then type the code that the app
shows.</p>
<p><code>${form.secret.match(/.{1,4}/g)?.join(' ') ?? ''}</code></p>
<p><a href="${form.uri}">Open an authenticator app on this device</a></p>
${codeForm(context, form, 'Code of your authenticator app')}
${cancelForm(context)}`,
})
