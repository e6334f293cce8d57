import type { Page } from '../frame.ts'
import { html } from '../html.ts'
import type { SignInContext } from './context.ts'
import { cancelForm, notices, signInFormButton } from './context.ts'

/**
 * Asks a person who is signed in already whether the program may be signed in as them. Its button has no focus: another
 * page that opens this one could otherwise have the person press it with a key that is already held down.
 */
export const continuePage = (context: SignInContext, person: string): Page => ({
  title: 'Continue?',
  body: html`${notices(context)}<p>You are signed in as <strong>${person}</strong>.</p>
<form method="post" action="${context.path}/continue"><button>Continue</button></form>
${signInFormButton(context, 'Use another account')}
${cancelForm(context)}`,
})
