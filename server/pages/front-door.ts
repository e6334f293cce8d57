// The page at `/`, and the page for paths that do not exist.
import type { Page } from './frame.ts'
import { html } from './html.ts'

/** `host` is the name by which people know the server, and `prefix` the path of its URL, without a slash at the end. */
export type Server = { host: string; prefix: string }

export const frontDoorPage = (server: Server, isSetUp: boolean): Page =>
  isSetUp ? startPage(server) : notSetUpPage(server)

const startPage = ({ host, prefix }: Server): Page => ({
  title: host,
  body: html`<p>Organizations as trees of groups: who may do what, and why.</p>
<p><a class="button" href="${prefix}/console/">Open the console</a></p>
<p class="quiet">In a terminal: <code>npx @stemma/cli auth login</code></p>
${docsLinks(prefix)}`,
})

const notSetUpPage = ({ host, prefix }: Server): Page => ({
  title: `${host} is not set up yet`,
  body: html`<p>The server printed a link when it started. Open that link to create the first organization and the
account of its owner.</p>
<p class="quiet">The link is in the output of <code>stemmad</code> and works for 24 hours. Start the server again to
get another.</p>
${docsLinks(prefix)}`,
})

const docsLinks = (prefix: string) =>
  html`<p class="links"><a href="${prefix}/docs">Documentation</a> <a href="${prefix}/openapi.json">OpenAPI</a></p>`

/** For a server that cannot reach its store. */
export const unavailablePage: Page = {
  title: 'Try again in a minute',
  body: html`<p>The server runs, but it cannot reach its data at the moment.</p>`,
}

export const notFoundPage = ({ prefix }: Server): Page => ({
  title: 'Page not found',
  body: html`<p>There is nothing at this address. Perhaps the link is incomplete, or the page was removed.</p>
<p><a class="button" href="${prefix}/">Go to the start page</a></p>`,
})
