// What the sign-in page shows.
import type { Provider } from 'oidc-provider'
import type { Html } from '../../pages/html.ts'
import { html } from '../../pages/html.ts'
import type { Fault } from './fields.ts'
import { marksOf, newPassword } from './fields.ts'
import { paths, prefixOf } from './paths.ts'
import type { Profile } from './provider.ts'
import type { Answer } from './visit.ts'
import { problem } from './visit.ts'

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/** What a page shows again of what was typed, and what was wrong with it. */
export type Told = {
  status?: number
  headers?: Record<string, string>
  fault?: Fault
  email?: string
  organization?: string
}

/** A parameter of the client that began the sign-in. */
export const parameterOf = ({ params }: Interaction, name: string) =>
  typeof params[name] === 'string' ? params[name] : ''

type Organization = { organization: string; isVerified: boolean }

/** `isAnyOffered` tells whether any organization signs in here by a provider of its own. */
export function signInPages(authUrl: string, isAnyOffered: () => Promise<boolean>) {
  const actionOf = ({ uid }: Interaction, rest = '') => `${prefixOf(authUrl)}${paths.signIn}/${uid}${rest}`

  function continuePage(interaction: Interaction, { name, email }: Profile): Answer {
    return {
      title: 'Continue?',
      body: html`${noticeOf(interaction)}<p>You are signed in as <strong>${email ?? name}</strong>.</p>
<form method="post" action="${actionOf(interaction, '/continue')}"><button autofocus>Continue</button></form>
<form method="get" action="${actionOf(interaction)}"><button class="plain" name="other" value="1">Use another account</button></form>
${cancelForm(interaction)}`,
    }
  }

  /** Nobody is sent to a provider without being asked: whoever is signed in there would not notice. */
  function providerPage(interaction: Interaction, named: string, about: Organization): Answer {
    return {
      title: `Sign in with ${about.organization}`,
      body: html`${noticeOf(interaction)}${
        !about.isVerified && html`<p>Nobody has verified who this organization is.</p>`
      }
<form method="post" action="${actionOf(interaction, '/organization')}">
<input type="hidden" name="organization" value="${named}">
<button autofocus>Continue to its sign-in</button>
</form>
<form method="get" action="${actionOf(interaction)}"><button class="plain" name="other" value="1">Sign in another way</button></form>
${cancelForm(interaction)}`,
    }
  }

  const cancelForm = (interaction: Interaction) =>
    html`<form method="post" action="${actionOf(interaction, '/cancel')}"><button class="plain">Cancel</button></form>`

  async function loginPage(interaction: Interaction, typed: Told = {}): Promise<Answer> {
    const { status = 200, headers = {}, fault, organization = '' } = typed
    const isInvited = parameterOf(interaction, 'invite') !== ''
    const email = typed.email ?? parameterOf(interaction, 'login_hint')
    const mark = (field: string, rule?: string) => marksOf(field, fault?.field ?? 'email', fault, rule)
    const isOffered = organization !== '' || (await isAnyOffered())
    return {
      title: 'Sign in',
      ...{ status, headers },
      body: html`${problem(fault?.words)}${noticeOf(interaction)}
<form method="post" action="${actionOf(interaction)}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" value="${email}" required autocomplete="username" ${mark('email')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" required autocomplete="current-password" ${mark('password')}>
<button>Sign in</button>
</form>
${
  isInvited &&
  html`<h2>New here</h2>
<form method="post" action="${actionOf(interaction, '/account')}">
<label for="new-email">E-mail address</label>
<input id="new-email" name="email" type="email" value="${email}" required autocomplete="username" ${mark('new-email')}>
${newPassword(mark('new-password', 'password-rule'), 'new-password')}
<button>Make an account</button>
</form>`
}
${
  isOffered &&
  html`<h2>With your organization</h2>
<form method="post" action="${actionOf(interaction, '/organization')}">
<label for="organization">Its domain</label>
<input id="organization" name="organization" value="${organization}" required placeholder="example.com"
  autocomplete="organization" autocapitalize="none" spellcheck="false" ${mark('organization')}>
<button class="plain">Go to its sign-in</button>
</form>`
}
${cancelForm(interaction)}`,
    }
  }

  return { continuePage, providerPage, loginPage }
}

/** Where a sign-in does more than it seems, the person must know it. */
function noticeOf(interaction: Interaction): Html[] {
  const code = parameterOf(interaction, 'headless_code')
  return [
    ...(interaction.deviceCode !== undefined
      ? [html`<p>This signs in the device whose code you have entered.</p>`]
      : []),
    ...(code !== ''
      ? [
          html`<p>A program on another machine asks to be signed in as you. Go on only if you started it and it
shows an address with this in it:</p><p class="code">${code.slice(0, 8)}</p>`,
        ]
      : []),
    ...(parameterOf(interaction, 'invite') !== '' ? [html`<p>This also accepts an invite.</p>`] : []),
  ]
}
