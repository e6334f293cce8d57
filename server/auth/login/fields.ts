// The fields that pages have in common, and how a fault is tied to the field that it is about.
import type { Html } from '../../pages/html.ts'
import { html } from '../../pages/html.ts'

export type Fault = { field: string; words: string }

/** What a field says of itself: whether the page starts there, and where its rule and its fault are told. */
export function marksOf(field: string, first: string, fault: Fault | undefined, rule?: string): Html {
  const isWrong = fault?.field === field
  const told = [isWrong && 'problem', rule].filter(Boolean).join(' ')
  return html`${field === first && html`autofocus `}${isWrong && html`aria-invalid="true" `}${
    told !== '' && html`aria-describedby="${told}"`
  }`
}

export const newPassword = (marks: Html, id = 'password') => html`<label for="${id}">Choose a password</label>
<input id="${id}" name="password" type="password" required minlength="12" autocomplete="new-password" ${marks}>
<p class="quiet" id="password-rule">At least 12 characters; several words are easy to remember.</p>`
