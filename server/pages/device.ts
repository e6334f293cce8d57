// The pages of the device flow (RFC 8628). `formSecret` proves that a form was sent from our own page.
import { alert } from './fields.ts'
import type { Page } from './frame.ts'
import { html } from './html.ts'

type DeviceForm = { action: string; formSecret: string }

/** `code` is the initial value of the field: the address may contain the code, which the person then only confirms. */
export const deviceCodePage = (
  { action, formSecret }: DeviceForm,
  code: string,
  message: string | undefined,
): Page => ({
  title: 'Sign in a device',
  body: html`${alert(message)}
<p>Enter the code that the device shows.</p>
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${formSecret}">
<label for="user_code">Code</label>
<input class="code" id="user_code" name="user_code" value="${code}" required autofocus autocomplete="off"
  autocapitalize="characters" spellcheck="false" placeholder="XXXX-XXXX" ${message && html`aria-describedby="problem"`}>
<button>Continue</button>
</form>`,
})

export const confirmDevicePage = (
  { action, formSecret }: DeviceForm,
  device: string,
  code: string,
): Page => ({
  title: 'Is this your device?',
  body: html`<p>${device} asks to be signed in as you. Continue only if you started it and it
shows this code:</p>
<p class="code">${code}</p>
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${formSecret}">
<input type="hidden" name="user_code" value="${code}">
<button name="confirm" value="yes">Sign it in</button>
<button class="plain" name="abort" value="yes">No, cancel</button>
</form>`,
})

export const deviceSignedInPage: Page = {
  title: 'Your device is signed in',
  body: html`<p>You can close this window and go back to the device.</p>`,
}
