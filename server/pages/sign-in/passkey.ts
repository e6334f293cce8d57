// Signing in with a passkey. The form is hidden until the script finds that the browser supports passkeys, so a browser
// without scripts does not show a button that does nothing.
import { html } from '../html.ts'
import type { SignInContext } from './context.ts'

export type PasskeyOffer = {
  /** Options for `navigator.credentials.get`, as JSON. */
  options: string
  /** The path of the script. */
  script: string
  /** The sign-in that waits for a second factor; empty on the first page. */
  pending: string
}

export const passkeyForm = ({ path }: SignInContext, { options, script, pending }: PasskeyOffer) =>
  html`<form method="post" action="${path}/passkey" id="passkey" data-options="${options}" hidden>
<input type="hidden" name="pending" value="${pending}">
<input type="hidden" name="response" value="">
<button class="plain" type="button" id="use-passkey">Use a passkey</button>
<p role="status" class="quiet" id="passkey-state"></p>
</form>
<script src="${script}" defer></script>`

/** The Content-Security-Policy of our pages allows scripts of this server only, and no inline ones. */
export const passkeyScript = `'use strict'
const form = document.getElementById('passkey')
const state = document.getElementById('passkey-state')
const bytesOf = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))
const textOf = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

async function usePasskey() {
  const options = JSON.parse(form.dataset.options)
  const publicKey = {
    ...options,
    challenge: bytesOf(options.challenge),
    allowCredentials: options.allowCredentials.map(({ id, ...rest }) => ({ ...rest, id: bytesOf(id) })),
  }
  state.textContent = ''
  try {
    const credential = await navigator.credentials.get({ publicKey })
    const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response
    form.elements.response.value = JSON.stringify({
      id: credential.id,
      rawId: textOf(credential.rawId),
      type: credential.type,
      clientExtensionResults: {},
      response: {
        clientDataJSON: textOf(clientDataJSON),
        authenticatorData: textOf(authenticatorData),
        signature: textOf(signature),
        ...(userHandle && userHandle.byteLength > 0 && { userHandle: textOf(userHandle) }),
      },
    })
    form.submit()
  } catch {
    state.textContent = 'No passkey was used.'
  }
}

if (window.PublicKeyCredential) {
  form.hidden = false
  document.getElementById('use-passkey').addEventListener('click', usePasskey)
}
`
