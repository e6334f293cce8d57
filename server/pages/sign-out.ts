import type { Page } from './frame.ts'
import { html } from './html.ts'

/** `formSecret` proves that the form was sent from our own page. */
export const signOutPage = (action: string, formSecret: string): Page => ({
  title: 'Sign out?',
  body: html`<p>This ends your session in this browser.</p>
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${formSecret}">
<button name="logout" value="yes">Sign out</button>
<button class="plain">Stay signed in</button>
</form>`,
})

export const signedOutPage: Page = {
  title: 'Signed out',
  body: html`<p>You are signed out in this browser.</p>`,
}

export const stillSignedInPage: Page = {
  title: 'Still signed in',
  body: html`<p>You are still signed in in this browser.</p>`,
}
