// The pages of the device flow: which device is it, and is it really yours?
import type { IncomingMessage } from 'node:http'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { StatusError } from '../../aip/errors.ts'
import { page } from '../../pages/frame.ts'
import { html } from '../../pages/html.ts'
import { formSecretOf } from './form-secret.ts'

export type DevicePages = ReturnType<typeof devicePagesOf>

/** `onWrongCode` is told of every request that brought one. */
export function devicePagesOf(onWrongCode: (request: IncomingMessage) => void) {
  return {
    userCodeInputSource(ctx: KoaContextWithOIDC, _form: string, _out?: unknown, error?: Error) {
      if (error?.name === 'NotFoundError') onWrongCode(ctx.req)
      const problem = problemOf(error)
      // A link may bring the code, to be compared and sent by the person.
      const typed = String(ctx.query.code ?? '').slice(0, 20)
      ctx.type = 'html'
      ctx.body = page(
        'Sign in a device',
        html`${problem && html`<p role="alert" id="problem">${problem}</p>`}
<p>Enter the code that the device shows.</p>
<form method="post" action="${ctx.oidc.urlFor('code_verification')}">
<input type="hidden" name="xsrf" value="${formSecretOf(ctx)}">
<label for="user_code">Code</label>
<input class="code" id="user_code" name="user_code" value="${typed}" required autofocus autocomplete="off"
  autocapitalize="characters" spellcheck="false" placeholder="XXXX-XXXX" ${problem && html`aria-describedby="problem"`}>
<button>Continue</button>
</form>`,
      )
    },

    userCodeConfirmSource(
      ctx: KoaContextWithOIDC,
      _form: string,
      client: { clientName?: string | undefined },
      _info: unknown,
      userCode: string,
    ) {
      ctx.type = 'html'
      ctx.body = page(
        'Is this your device?',
        html`<p>${client.clientName ?? 'A device'} asks to be signed in as you. Go on only if you started it, and it
shows this code:</p>
<p class="code">${userCode}</p>
<form method="post" action="${ctx.oidc.urlFor('code_verification')}">
<input type="hidden" name="xsrf" value="${formSecretOf(ctx)}">
<input type="hidden" name="user_code" value="${userCode}">
<button name="confirm" value="yes">Sign it in</button>
<button class="plain" name="abort" value="yes">No, cancel</button>
</form>`,
      )
    },

    successSource(ctx: KoaContextWithOIDC) {
      ctx.type = 'html'
      ctx.body = page('Your device is signed in', html`<p>You can close this window and go back to it.</p>`)
    },
  }
}

function problemOf(error: Error | undefined): string | undefined {
  if (!error) return undefined
  if (error instanceof StatusError) return error.message
  switch (error.name) {
    case 'NotFoundError':
    case 'NoCodeError':
      return 'There is no such code. Compare it with what the device shows.'
    case 'ExpiredError':
      return 'This code has expired. Start again on the device.'
    case 'AlreadyUsedError':
      return 'This code was used before. Start again on the device.'
    case 'AbortedError':
      return 'The device was not signed in.'
    default:
      return 'This did not work. Start again on the device.'
  }
}
