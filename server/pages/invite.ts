// The page of an invite, which the guest opens by a link.
import { errorPage } from './error.ts'
import type { Page } from './frame.ts'
import { html } from './html.ts'

export type InviteForm = {
  /** The path that the form is sent to. */
  action: string
  code: string
  /** The names of the organization and of the groups below it. */
  groups: string[]
  role: string
  creator: string | undefined
  email: string
  /** In milliseconds since 1970. */
  expires: number
}

export const invitePage = ({ action, code, groups, role, creator, email, expires }: InviteForm): Page => ({
  title: `Join ${groups[0] ?? ''}`,
  body: html`<p>${creator ?? 'Somebody'} invites you.</p>
<dl>
<dt>Organization</dt><dd>${groups[0]}</dd>
${groups.length > 1 && html`<dt>Group</dt><dd>${groups.join(' / ')}</dd>`}
<dt>Role</dt><dd>${role}</dd>
${email !== '' && html`<dt>Only for</dt><dd>${email}</dd>`}
<dt>Expires</dt><dd>${time(expires)}</dd>
</dl>
<form method="post" action="${action}">
<input type="hidden" name="code" value="${code}">
<button>Sign in and accept</button>
</form>
<p class="quiet">Nothing changes until you have signed in.${
    email === '' && ' If you have no account, you can make one there.'
  }</p>`,
})

/** Servers do not know the time zone of a browser, so the time is in UTC. */
const time = (milliseconds: number) => {
  const iso = new Date(milliseconds).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}

export const expiredInvitePage = (organization: string, creator: string | undefined): Page => ({
  title: 'This invite has expired',
  body: html`<p>It was an invite to <strong>${organization}</strong>. Ask ${
    creator ?? 'the person who sent it'
  } for another one.</p>`,
})

export const unknownInvitePage: Page = errorPage(
  'There is no invite with this code.',
  html`<p>It was used or withdrawn, or the link is incomplete. Ask the person who sent it for another one.</p>`,
)
