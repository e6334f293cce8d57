import type { Page } from '../frame.ts'
import { html } from '../html.ts'
import type { SignInContext } from './context.ts'
import { cancelForm, notices, programAndServer, signInFormButton } from './context.ts'

/**
 * Asks a person who is signed in already whether the program may sign in as them. The button has no focus: otherwise
 * another page could open this one while the person holds down a key, and that key would press the button.
 */
export const continuePage = (context: SignInContext, person: string): Page => ({
  title: 'Continue?',
  body: html`${programAndServer(context)}${notices(context)}<p>You are signed in as <strong>${person}</strong>.</p>
<form method="post" action="${context.path}/continue"><button>Continue</button></form>
${signInFormButton(context, 'Use another account')}
${cancelForm(context)}`,
})
