// The pages of the device flow, as functions that oidc-provider calls.
import type { IncomingMessage } from 'node:http'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { StatusError } from '../../../aip/errors.ts'
import { confirmDevicePage, deviceCodePage, deviceSignedInPage } from '../../../pages/device.ts'
import type { Page } from '../../../pages/frame.ts'
import { renderPage } from '../../../pages/frame.ts'
import { formSecretOf } from './form-secret.ts'

export type DevicePages = ReturnType<typeof devicePagesOf>

/**
 * `prefix` is the path of the auth URL. `onWrongCode` is called with every request that contained an unknown code.
 */
export function devicePagesOf(prefix: string, onWrongCode: (request: IncomingMessage) => void) {
  function show(ctx: KoaContextWithOIDC, page: Page): void {
    ctx.type = 'html'
    ctx.body = renderPage(page, prefix)
  }

  return {
    userCodeInputSource(ctx: KoaContextWithOIDC, _form: string, _out?: unknown, error?: Error) {
      if (error?.name === 'NotFoundError') onWrongCode(ctx.req)
      // A link may contain the code.
      const code = String(ctx.query.code ?? '').slice(0, 20)
      show(ctx, deviceCodePage(formOf(ctx), code, messageOf(error)))
    },

    userCodeConfirmSource(
      ctx: KoaContextWithOIDC,
      _form: string,
      client: { clientName?: string | undefined },
      _info: unknown,
      userCode: string,
    ) {
      show(ctx, confirmDevicePage(formOf(ctx), client.clientName ?? 'A device', userCode))
    },

    successSource(ctx: KoaContextWithOIDC) {
      show(ctx, deviceSignedInPage)
    },
  }
}

const formOf = (ctx: KoaContextWithOIDC) => ({
  action: ctx.oidc.urlFor('code_verification'),
  formSecret: formSecretOf(ctx),
})

function messageOf(error: Error | undefined): string | undefined {
  if (!error) return undefined
  if (error instanceof StatusError) return error.message
  switch (error.name) {
    case 'NotFoundError':
    case 'NoCodeError':
      return 'There is no such code. Compare your input with the code that the device shows.'
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
