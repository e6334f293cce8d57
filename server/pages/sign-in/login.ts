// The sign-in form: password, passkey, new account for invited people, or organization.
import type { FieldError } from '../fields.ts'
import { alert, fieldAttributes, newPasswordField } from '../fields.ts'
import type { Page } from '../frame.ts'
import { html } from '../html.ts'
import type { SignInContext } from './context.ts'
import { cancelForm, notices, programAndServer } from './context.ts'
import type { PasskeyOffer } from './passkey.ts'
import { passkeyForm } from './passkey.ts'

export type LoginForm = {
  /** The values that the person typed before, and the error in these values. */
  email: string
  organization: string
  error: FieldError | undefined
  isOrganizationOffered: boolean
  passkey: PasskeyOffer
}

export const loginPage = (context: SignInContext, form: LoginForm): Page => ({
  title: 'Sign in',
  body: html`${alert(form.error?.message)}${programAndServer(context)}${notices(context)}
${passwordForm(context, form)}
${passkeyForm(context, form.passkey)}
${context.canMakeAccount && newAccountForm(context, form)}
${form.isOrganizationOffered && organizationForm(context, form)}
${cancelForm(context)}`,
})

const attributes = ({ error }: LoginForm, field: string, rule?: string) =>
  fieldAttributes(field, 'email', error, rule)

const passwordForm = ({ path }: SignInContext, form: LoginForm) => html`<form method="post" action="${path}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" value="${form.email}" required autocomplete="username" ${attributes(form, 'email')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" required autocomplete="current-password" ${attributes(form, 'password')}>
<button>Sign in</button>
</form>`

const newAccountForm = ({ path }: SignInContext, form: LoginForm) => html`<h2>New here</h2>
<form method="post" action="${path}/account">
<label for="new-email">E-mail address</label>
<input id="new-email" name="email" type="email" value="${form.email}" required autocomplete="username" ${attributes(form, 'new-email')}>
${newPasswordField(attributes(form, 'new-password', 'password-rule'), 'new-password')}
<button>Make an account</button>
</form>`

const organizationForm = ({ path }: SignInContext, form: LoginForm) => html`<h2>With your organization</h2>
<form method="post" action="${path}/organization">
<label for="organization">Domain of your organization</label>
<input id="organization" name="organization" value="${form.organization}" required placeholder="example.com"
  autocomplete="organization" autocapitalize="none" spellcheck="false" ${attributes(form, 'organization')}>
<button class="plain">Go to its sign-in</button>
</form>`
