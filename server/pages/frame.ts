// The frame of every page: colours, style, Content-Security-Policy and layout.
import { createHash } from 'node:crypto'
import { Html, html } from './html.ts'

/** The colours of our pages; the browser's setting chooses light or dark. */
export const palette = `:root { color-scheme: light dark; --ink: #1c1f23; --quiet: #5b636d; --paper: #f4f3ef; --card: #fff; --line: #8a929c;
  --leaf: #1c6b48; --leaf-ink: #fff; --alarm: #a32020; --alarm-paper: #fdeeee }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e7e2; --quiet: #a7adb5; --paper: #16181b; --card: #1f2226;
  --line: #6d757f; --leaf: #6fcf9f; --leaf-ink: #0d2318; --alarm: #ff9d9d; --alarm-paper: #3a1d1d } }
`

/** The Content-Security-Policy source that allows one inline style or script. */
export const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Inline in every page, because pages load nothing from other hosts. Pages can be read without it. */
export const style = `
${palette}* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 25rem; background: var(--card); padding: 2rem; border-radius: 0.75rem;
  box-shadow: 0 1px 3px #0003 }
header { display: flex; gap: 0.5rem; align-items: center; color: var(--leaf); font-weight: 600 }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 1.25rem 0 0.75rem }
h2 { font-size: 1rem; margin: 1.75rem 0 0.5rem; padding-top: 1.25rem; border-top: 1px solid #8886 }
p { margin: 0 0 0.75rem }
.quiet { color: var(--quiet); font-size: 0.9rem }
input + .quiet { margin-top: 0.4rem }
::placeholder { color: var(--quiet); opacity: 1 }
label { display: block; font-weight: 600; margin: 0.75rem 0 0.25rem }
input { width: 100%; font: inherit; color: inherit; background: transparent; padding: 0.55rem 0.7rem;
  border: 1px solid var(--line); border-radius: 0.4rem }
button { width: 100%; margin-top: 1rem; font: inherit; font-weight: 600; padding: 0.6rem; cursor: pointer;
  border: 1px solid var(--leaf); border-radius: 0.4rem; background: var(--leaf); color: var(--leaf-ink) }
button.plain { background: transparent; color: var(--leaf) }
:focus-visible { outline: 3px solid var(--leaf); outline-offset: 2px }
[role=alert] { background: var(--alarm-paper); color: var(--alarm); padding: 0.6rem 0.8rem; border-radius: 0.4rem }
code, .code { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
code span { white-space: nowrap }
.code { font-size: 1.5rem; letter-spacing: 0.1em; text-align: center }
`

/**
 * There is no form-action: a sign-in ends with a redirect to the client's own port, and browsers apply form-action to
 * redirects too. Our pages have no scripts; script-src is here for oidc-provider, which adds the hash of its own
 * script.
 */
export const contentSecurityPolicy = `default-src 'none'; style-src ${hashOf(style)}; script-src 'self'; base-uri 'none'; frame-ancestors 'none'`

const logo = new Html(`<svg width="24" height="24" viewBox="0 0 24 24" fill="none" stroke="currentColor"
  stroke-width="2" stroke-linecap="round" aria-hidden="true"><path d="M12 21V11M12 15c0-4-6-2-6-6M12 13c0-4 6-2 6-6"/>
  <circle cx="12" cy="8" r="2.5"/><circle cx="6" cy="6" r="2.5"/><circle cx="18" cy="4.5" r="2.5"/></svg>`)

export type Page = { title: string; body: Html }

export function renderPage({ title, body }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Stemma</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
<header>${logo}<span>Stemma</span></header>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text
}
