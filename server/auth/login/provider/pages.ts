// Pages that oidc-provider shows: errors and sign-out.
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { errorPage } from '../../../pages/error.ts'
import { renderPage } from '../../../pages/frame.ts'
import { html } from '../../../pages/html.ts'
import { signedOutPage, signOutPage, stillSignedInPage } from '../../../pages/sign-out.ts'
import { formSecretOf } from './form-secret.ts'

export function renderErrorPage(ctx: KoaContextWithOIDC, { error, error_description: text }: ErrorOut) {
  const message =
    error === 'server_error' ? 'Something went wrong on our side.' : `${error}: ${text ?? 'start again'}.`
  const advice = html`<p>Start again from the program that sent you here.</p>`
  ctx.type = 'html'
  ctx.body = renderPage(errorPage(message, advice))
}

export function signOutSource(ctx: KoaContextWithOIDC) {
  ctx.body = renderPage(signOutPage(ctx.oidc.urlFor('end_session_confirm'), formSecretOf(ctx)))
}

/** The person may have chosen to stay signed in. */
export function signedOutSource(ctx: KoaContextWithOIDC) {
  ctx.body = renderPage(ctx.oidc.session?.accountId ? stillSignedInPage : signedOutPage)
}
