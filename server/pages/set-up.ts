// The pages of one-time links: setting up an empty server, and choosing a password.
import type { FieldError } from './fields.ts'
import { alert, fieldAttributes, newPasswordField } from './fields.ts'
import type { Page } from './frame.ts'
import { html } from './html.ts'

/** `action` is the path that the form is sent to, `code` the code of the link. */
export type SetUpForm = {
  action: string
  code: string
  organization: string
  email: string
  error?: FieldError | undefined
}

export function setUpPage({ action, code, organization, email, error }: SetUpForm): Page {
  const attributes = (field: string, rule?: string) => fieldAttributes(field, 'organization', error, rule)
  return {
    title: 'Set up this server',
    body: html`${alert(error?.message)}<p>Create the first organization, and the account of its owner.</p>
<form method="post" action="${action}">
<input type="hidden" name="code" value="${code}">
<label for="organization">Name of the organization</label>
<input id="organization" name="organization" value="${organization}" required placeholder="acme"
  autocapitalize="none" spellcheck="false" autocomplete="organization" ${attributes('organization', 'name-rule')}>
<p class="quiet" id="name-rule">Lowercase letters, digits, spaces, dots, dashes and underscores.</p>
<label for="email">Your e-mail address</label>
<input id="email" name="email" type="email" value="${email}" required autocomplete="username" ${attributes('email')}>
${newPasswordField(attributes('password', 'password-rule'))}
<button>Set up</button>
</form>`,
  }
}

export type PasswordForm = { action: string; code: string; email: string; message?: string | undefined }

export function choosePasswordPage({ action, code, email, message }: PasswordForm): Page {
  const error = message === undefined ? undefined : { field: 'password', message }
  return {
    title: 'Choose a password',
    body: html`${alert(message)}<p>For <strong>${email}</strong>.</p>
<form method="post" action="${action}">
<input type="hidden" name="code" value="${code}">
<input type="email" name="username" value="${email}" autocomplete="username" hidden readonly>
${newPasswordField(fieldAttributes('password', 'password', error, 'password-rule'))}
<button>Set the password</button>
</form>`,
  }
}

/**
 * Leads to the console, which may be on another host than this page, and shows how to sign in from
 * a terminal. The command names the URL of the API unless `stemma` uses it by default.
 */
export function readyPage(title: string, email: string, apiUrl: string, isSignedIn = false): Page {
  const apiFlag = apiUrl === 'http://localhost:8080' ? undefined : html` <span>--api ${apiUrl}</span>`
  return {
    title,
    body: html`<p>${isSignedIn ? 'You are signed in as' : 'You can sign in as'} <strong>${email}</strong>.</p>
<p><a class="button" href="${apiUrl.replace(/\/$/, '')}/console/">Open the console</a></p>
<p class="quiet">Or sign in from a terminal:</p>
<p><code><span>npx @stemma/cli auth login</span>${apiFlag}</code></p>`,
  }
}
