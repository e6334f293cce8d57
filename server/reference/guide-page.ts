// Guides as HTML. Their examples have the address of this server.
import MarkdownIt from 'markdown-it'
import { Html, html } from '../pages/html.ts'
import type { Guide } from './guides.ts'
import { readGuide } from './guides.ts'
import type { Site } from './layout.ts'
import { page } from './layout.ts'

type Heading = { text: string; anchor: string; level: 2 | 3 }

export function guidePage(site: Site, { slug }: Guide): string {
  const { title, body, headings } = renderGuide(site, slug)
  return page(site, {
    ...{ title, slug, body: html`<div class="guide">${body}</div>` },
    contents: headings
      .filter(({ level }) => level === 2)
      .map(({ text, anchor }) => html`<a href="#${anchor}">${text}</a>`),
  })
}

/** The headings of a guide, for its list of contents and for the search. */
export function headingsOf(slug: string): Heading[] {
  const tokens = new MarkdownIt().parse(readGuide(slug), {})
  return tokens.flatMap(({ type, tag }, at) => {
    if (type !== 'heading_open' || (tag !== 'h2' && tag !== 'h3')) return []
    const text = (tokens[at + 1]?.content ?? '').replaceAll('`', '')
    return [{ text, anchor: anchorOf(text), level: tag === 'h2' ? 2 : 3 }]
  })
}

/** The anchor of a heading, as code hosting sites make it. Links between the guides use it. */
const anchorOf = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

type RenderedGuide = { title: string; body: Html; headings: Heading[] }

function renderGuide(site: Site, slug: string): RenderedGuide {
  const markdown = new MarkdownIt({ html: true })
  const { rules } = markdown.renderer
  // The only HTML in the guides is comments for the tests.
  rules.html_block = () => ''
  rules.fence = (tokens, at) => codeBlock(site, tokens[at]?.info ?? '', tokens[at]?.content ?? '').text
  rules.code_inline = (tokens, at) => html`<code>${withAddress(site, tokens[at]?.content ?? '')}</code>`.text
  rules.table_open = () => '<div class="table" tabindex="0"><table>'
  rules.table_close = () => '</table></div>'
  rules.image = (tokens, at) => {
    const token = tokens[at]
    return html`<img src="${pathOf(site, String(token?.attrGet('src')))}" alt="${token?.content}" loading="lazy">`
      .text
  }
  // A guide begins with its title: three tokens.
  const [, heading, , ...tokens] = markdown.parse(readGuide(slug), {})
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open')
      token.attrSet('id', anchorOf((tokens[at + 1]?.content ?? '').replaceAll('`', '')))
    for (const child of token.children ?? []) {
      if (child.type === 'link_open') child.attrSet('href', pathOf(site, String(child.attrGet('href'))))
    }
  }
  const body = markdown.renderer.render(tokens, markdown.options, {})
  return { title: heading?.content ?? '', body: new Html(withoutDeadLinks(body)), headings: headingsOf(slug) }
}

/** Links to files of the repository that the server does not serve have an empty target. */
const withoutDeadLinks = (text: string) => text.replaceAll(/<a href="">(.*?)<\/a>/g, '$1')

/** The path on this server of a link in a guide, or an empty string if the server does not serve its target. */
function pathOf({ prefix, slugs, pictures }: Site, target: string): string {
  if (/^(?:[a-z]+:|#)/.test(target)) return target
  const [file = '', anchor] = target.split('#')
  const fragment = anchor === undefined ? '' : `#${anchor}`
  if (file === 'openapi.json') return `${prefix}/openapi.json`
  if (file === 'README.md' || file === 'reference/README.md') return `${prefix}/docs${fragment}`
  if (pictures.has(file)) return `${prefix}/docs/${file}`
  const [, slug = ''] = /^(?:reference\/)?([\w-]+)\.md$/.exec(file) ?? []
  return slugs.has(slug) ? `${prefix}/docs/${slug}${fragment}` : ''
}

/** The language decides how the block is copied: for `console`, only the commands. */
export const codeBlock = (site: Site, language: string, text: string) =>
  html`<div class="code" data-language="${language}"><pre tabindex="0"><code>${withAddress(site, text)}</code></pre></div>`

/** Replaces the default address in examples, localhost:8080, by the address of this server. */
function withAddress({ baseUrl }: Site, text: string): string {
  return text
    .replaceAll('http://localhost:8080', baseUrl)
    .replaceAll(/(?<![\w.])localhost:8080/g, new URL(baseUrl).host)
}
