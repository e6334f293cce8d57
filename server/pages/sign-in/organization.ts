import type { Page } from '../frame.ts'
import { html } from '../html.ts'
import type { SignInContext } from './context.ts'
import { cancelForm, notices, programAndServer, signInFormButton } from './context.ts'

export type OrganizationChoice = {
  /** The value that the form sends: the uid of a provider or the domain of an organization. */
  reference: string
  name: string
  isVerified: boolean
}

/** Asks before the browser goes to a provider: a provider may sign a person in without showing a page. */
export const organizationPage = (
  context: SignInContext,
  { reference, name, isVerified }: OrganizationChoice,
): Page => ({
  title: `Sign in with ${name}`,
  body: html`${programAndServer(context)}${notices(context)}${!isVerified && html`<p>Nobody has verified who this organization is.</p>`}
<form method="post" action="${context.path}/organization">
<input type="hidden" name="organization" value="${reference}">
<button>Continue to its sign-in</button>
</form>
${signInFormButton(context, 'Sign in another way')}
${cancelForm(context)}`,
})
