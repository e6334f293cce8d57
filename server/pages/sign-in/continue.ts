import type { Page } from '../frame.ts'
import { html } from '../html.ts'
import type { SignInContext } from './context.ts'
import { cancelForm, notices, signInFormButton } from './context.ts'

/** Asks a person who is signed in already whether the program may be signed in as them. */
export const continuePage = (context: SignInContext, person: string): Page => ({
  title: 'Continue?',
  body: html`${notices(context)}<p>You are signed in as <strong>${person}</strong>.</p>
<form method="post" action="${context.path}/continue"><button autofocus>Continue</button></form>
${signInFormButton(context, 'Use another account')}
${cancelForm(context)}`,
})
