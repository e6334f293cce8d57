// The frame of every page: Content-Security-Policy and layout. Colours and style are in api/look, which the command line
// shares.
import { createHash } from 'node:crypto'
import { logo } from '@stemma/api/look/logo.ts'
import { pageStyle } from '@stemma/api/look/page-style.ts'
import { Html, html } from './html.ts'

/** The Content-Security-Policy source that allows one inline style or script. */
export const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/**
 * There is no form-action: a sign-in ends with a redirect to the client's own port, and browsers apply form-action to
 * redirects too. The sign-in pages have one script, for passkeys; oidc-provider adds the hash of its own script.
 */
export const contentSecurityPolicy = `default-src 'none'; style-src ${hashOf(pageStyle)}; script-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'`

export type Page = { title: string; body: Html }

/** `prefix` is the path of the URL at which the server shows the page, without a slash at its end. */
export function renderPage({ title, body }: Page, prefix: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Stemma</title>
<link rel="icon" href="${prefix}/favicon.svg" type="image/svg+xml">
<style>${new Html(pageStyle)}</style>
</head>
<body>
<main>
<header>${new Html(logo)}<span>Stemma</span></header>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text
}
