import type { Page } from '../frame.ts'
import { html } from '../html.ts'

export const headlessSignedInPage: Page = {
  title: 'You are signed in',
  body: html`<p>You can close this window and go back to the program.</p>`,
}
