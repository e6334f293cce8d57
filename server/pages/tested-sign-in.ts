// The results of a test of an identity provider, for the administrator who has begun it.
import type { Page } from './frame.ts'
import { html } from './html.ts'

export type TestedSignIn = {
  /** The fields of the person, as a sign-in would take them from the token. */
  person: readonly (readonly [name: string, value: string])[]
  /** The claims of the id token, with values as JSON. */
  claims: readonly (readonly [name: string, value: string])[]
}

const rows = (entries: TestedSignIn['person']) =>
  entries.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>\n`)

export const testedSignInPage = ({ person, claims }: TestedSignIn): Page => ({
  title: 'The sign-in works',
  body: html`<p>The provider sent a token for this person. Nobody was signed in, and nothing has changed.</p>
<dl>
${rows(person)}</dl>
<details>
<summary>All claims of the id token</summary>
<dl>
${rows(claims)}</dl>
</details>
<p class="quiet">You can close this window.</p>`,
})

/** `causes` are the messages of an error and of the errors that caused it. */
export const failedTestPage = (causes: readonly string[]): Page => ({
  title: 'The sign-in does not work',
  body: html`<p role="alert">${causes[0]}</p>
${causes.length > 1 && html`<p>Because:</p>\n<ul>\n${causes.slice(1).map((cause) => html`<li>${cause}</li>\n`)}</ul>`}
<p class="quiet">If the provider could not be reached, wait a minute before you test again, unless you change its settings.
You can close this window.</p>`,
})
