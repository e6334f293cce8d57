// The only HTML page of the console. Its script draws the page of each path.
import { html } from '../pages/html.ts'
import type { Bundle } from './load-bundle.ts'

/** Nothing inline, no other origin, and no strings as HTML or code (Trusted Types). */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

export type PageAddresses = {
  /** The path of the base URL, which a proxy removes before this server gets the request. */
  prefix: string
  /** The issuer of this server, with which redirect URIs begin. */
  issuer: string
}

export const indexPage = (
  { entry }: Bundle,
  { prefix, issuer }: PageAddresses,
  frameStyleFile: string,
): string =>
  html`<!doctype html>
<html lang="en" data-prefix="${prefix}" data-issuer="${issuer}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stemma</title>
<link rel="stylesheet" href="${prefix}/console/assets/${frameStyleFile}">
<link rel="stylesheet" href="${prefix}/console/assets/${entry.style}">
${entry.preload.map((name) => html`<link rel="modulepreload" href="${prefix}/console/assets/${name}">\n`)}<script type="module" src="${prefix}/console/assets/${entry.script}"></script>
<link rel="icon" href="${prefix}/favicon.svg" type="image/svg+xml">
</head>
<body><div id="app"></div><noscript>The console needs JavaScript. The same can be done with the command line.</noscript></body>
</html>
`.text
