// The frame of the pages at /docs: top bar, navigation, content, and a list of the headings beside it.
import { logo } from '@stemma/api/look/logo.ts'
import type { Service } from '@stemma/api/reference/operations.ts'
import { Html, html } from '../pages/html.ts'
import type { GuideSection } from './guides.ts'

/** The data that all pages share. */
export type Site = {
  baseUrl: string
  /** The path of the base URL, which a proxy removes before this server gets the request. */
  prefix: string
  sections: GuideSection[]
  services: Service[]
  /** The names of all pages. */
  slugs: Set<string>
  /** The paths of all pictures. */
  pictures: Set<string>
}

export type PageContent = {
  title: string
  /** Undefined for the first page. */
  slug: string | undefined
  body: Html
  contents: Html[]
}

/**
 * The Content-Security-Policy: nothing inline, no other origin, no frames, and no strings as HTML
 * or code, because the page holds an access token while a person tries calls.
 */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

export function page(site: Site, { title, slug, body, contents }: PageContent): string {
  const { prefix, baseUrl } = site
  return html`<!doctype html>
<html lang="en" data-prefix="${prefix}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Stemma</title>
<link rel="stylesheet" href="${prefix}/docs/assets/docs.css">
<script type="module" src="${prefix}/docs/assets/docs.mjs"></script>
<link rel="icon" href="${prefix}/favicon.svg" type="image/svg+xml">
</head>
<body>
<a class="skip-link" href="#content">Skip to the content</a>
<header class="top-bar">
<button class="menu-button" type="button" popovertarget="navigation">Menu</button>
<a class="brand" href="${prefix}/docs">${new Html(logo)}<span>Stemma docs</span></a>
<span class="server">${new URL(baseUrl).host}</span>
<nav class="links" aria-label="Server"><a class="wide" href="${prefix}/openapi.json">OpenAPI</a> <a href="${prefix}/console/">Console</a></nav>
</header>
<div class="columns">
<nav id="navigation" class="navigation" aria-label="Pages" popover>${navigation(site, slug)}</nav>
<main id="content">
<h1>${title}</h1>
${body}
</main>
${
  contents.length > 0 &&
  html`<nav class="contents" aria-labelledby="contents-title"><h2 id="contents-title">On this page</h2>
<ul>${contents.map((link) => html`<li>${link}</li>`)}</ul></nav>`
}
</div>
</body>
</html>
`.text
}

function navigation({ prefix, sections, services }: Site, current: string | undefined): Html {
  const link = (path: string, text: string, isCurrent: boolean) =>
    html`<li><a href="${prefix}${path}"${isCurrent && html` aria-current="page"`}>${text}</a></li>`
  const list = (title: string, links: Html[]) => html`<h2>${title}</h2><ul>${links}</ul>`
  const serviceLink = ({ slug, title }: Service) => link(`/docs/${slug}`, title, slug === current)
  const isOld = ({ version }: Service) => version === 'v1'
  const old = services.filter(isOld)
  const areas = Map.groupBy(
    services.filter((service) => !isOld(service)),
    areaOf,
  )
  return html`<ul>${link('/docs', 'All pages', current === undefined)}</ul>
${sections.map(({ title, guides }) =>
  list(
    title,
    guides.map((guide) => link(`/docs/${guide.slug}`, guide.title, guide.slug === current)),
  ),
)}
${[...areas].map(([area, members]) => list(area, members.map(serviceLink)))}
<details${old.some(({ slug }) => slug === current) && html` open`}><summary>Version 1 of the API</summary><ul>${old.map(serviceLink)}</ul></details>`
}

const areaTitles: Record<string, string> = {
  iam: 'API: identities and access',
  registry: 'API: registry',
  vulnerabilities: 'API: advisories',
  advisory: 'API: advisories',
  events: 'API: events and audit',
  audit: 'API: events and audit',
}

export const areaOf = ({ slug }: Service) => areaTitles[slug.split('-')[0] ?? ''] ?? 'API: server'
