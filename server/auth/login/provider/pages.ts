// Pages that oidc-provider shows: errors and sign-out.
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { errorPage } from '../../../pages/error.ts'
import { renderPage } from '../../../pages/frame.ts'
import { html } from '../../../pages/html.ts'
import { signedOutPage, signOutPage, stillSignedInPage } from '../../../pages/sign-out.ts'
import { formSecretOf } from './form-secret.ts'

/** `prefix` is the path of the auth URL. */
export const errorPageOf =
  (prefix: string) =>
  (ctx: KoaContextWithOIDC, { error, error_description: text }: ErrorOut): void => {
    const message =
      error === 'server_error' ? 'Something went wrong on our side.' : `${error}: ${text ?? 'start again'}.`
    const advice = html`<p>Start again from the program that sent you here.</p>`
    ctx.type = 'html'
    ctx.body = renderPage(errorPage(message, advice), prefix)
  }

/** `prefix` is the path of the auth URL. */
export const signOutPagesOf = (prefix: string) => ({
  logoutSource(ctx: KoaContextWithOIDC): void {
    const page = signOutPage(ctx.oidc.urlFor('end_session_confirm'), formSecretOf(ctx))
    ctx.body = renderPage(page, prefix)
  },

  /** The person may have chosen to stay signed in. */
  postLogoutSuccessSource(ctx: KoaContextWithOIDC): void {
    ctx.body = renderPage(ctx.oidc.session?.accountId ? stillSignedInPage : signedOutPage, prefix)
  },
})
