// Data and parts that all pages of a sign-in share.
import type { Html } from '../html.ts'
import { html } from '../html.ts'

export type SignInContext = {
  /** The host by which people know the server. */
  server: string
  /** The program that asks for the sign-in. */
  program: string
  /** The path of this sign-in; its forms are sent to paths below it. */
  path: string
  /** Whether this sign-in is for a device whose code was entered before. */
  isDevice: boolean
  /** The code of a program on another machine that waits for this sign-in; empty if there is none. */
  headlessCode: string
  /** Whether this sign-in also accepts an invite. */
  isInvited: boolean
  /**
   * Whether the person can make an account. An invite that is limited to an e-mail address is accepted only by accounts
   * whose address is verified, and that of a new account is not.
   */
  canMakeAccount: boolean
  /** The names from the organization down to the group of the invite; empty if no invite is found. */
  invitedTo: string
}

/** Names the program that asks and the server that answers, so that a person can see where a password goes. */
export const programAndServer = ({ server, program }: SignInContext): Html =>
  html`<p class="quiet">${program} asks you to sign in to <strong>${server}</strong>.</p>`

/** Consequences of the sign-in that the person might not expect. */
export function notices({ isDevice, headlessCode, isInvited, invitedTo }: SignInContext): Html[] {
  return [
    ...(isDevice ? [html`<p>This signs in the device whose code you have entered.</p>`] : []),
    ...(headlessCode !== ''
      ? [
          html`<p>A program on another machine asks to be signed in as you. Continue only if you started it
and it shows an address that contains this code:</p><p class="code">${headlessCode.slice(0, 8)}</p>`,
        ]
      : []),
    ...(invitedTo !== ''
      ? [html`<p>This also accepts the invite to <strong>${invitedTo}</strong>.</p>`]
      : []),
    ...(isInvited && invitedTo === '' ? [html`<p>This also accepts an invite.</p>`] : []),
  ]
}

/** A button that leads to the sign-in form. */
export const signInFormButton = ({ path }: SignInContext, label: string) =>
  html`<form method="get" action="${path}"><button class="plain" name="other" value="1">${label}</button></form>`

export const cancelForm = ({ path }: SignInContext) =>
  html`<form method="post" action="${path}/cancel"><button class="plain">Cancel</button></form>`
