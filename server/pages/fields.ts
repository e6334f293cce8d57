// Form fields and their errors.
import type { Html } from './html.ts'
import { html } from './html.ts'

/** An error that belongs to a field of a form. */
export type FieldError = { field: string; message: string }

/** The error above a form; the field's aria-describedby refers to it. */
export const alert = (message: string | undefined): Html | undefined =>
  message === undefined ? undefined : html`<p role="alert" id="problem">${message}</p>`

/**
 * The attributes of a form field: focus, and references to its error and to an explanation. `rule`
 * is the id of the element with the explanation. The field with the error gets the focus; if there
 * is no error, `firstField` does.
 */
export function fieldAttributes(
  field: string,
  firstField: string,
  error: FieldError | undefined,
  rule?: string,
): Html {
  const isWrong = error?.field === field
  const hasFocus = field === (error?.field ?? firstField)
  const descriptions = [isWrong && 'problem', rule].filter(Boolean).join(' ')
  return html`${hasFocus && html`autofocus `}${isWrong && html`aria-invalid="true" `}${
    descriptions !== '' && html`aria-describedby="${descriptions}"`
  }`
}

/** A field for a new password. The element with the id `password-rule` describes which passwords are accepted. */
export const newPasswordField = (
  attributes: Html,
  id = 'password',
) => html`<label for="${id}">Choose a password</label>
<input id="${id}" name="password" type="password" required minlength="12" autocomplete="new-password" ${attributes}>
<p class="quiet" id="password-rule">At least 12 characters; several words are easy to remember.</p>`
