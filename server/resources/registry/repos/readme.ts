// The readme of a repo, in Markdown. It is stored as sent, so it must contain no HTML that is unsafe to show. Only a thread
// imports this file (checks-thread.ts), so that the server does not load the libraries.
import type { MarkdownIt, Token } from 'markdown-it'
import markdownIt from 'markdown-it'
import type { IOptions } from 'sanitize-html'
import sanitize from 'sanitize-html'

const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']

/** The HTML that a readme may contain. */
const policy: IOptions = {
  allowedTags: [
    ...[...headings, 'p', 'div', 'span', 'br', 'hr', 'blockquote', 'pre', 'code', 'kbd', 'samp', 'var'],
    ...[
      'a',
      'img',
      'picture',
      'b',
      'i',
      'u',
      's',
      'strong',
      'em',
      'del',
      'ins',
      'mark',
      'small',
      'sub',
      'sup',
    ],
    ...['ul', 'ol', 'li', 'dl', 'dt', 'dd', 'table', 'caption', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td'],
    ...['details', 'summary', 'abbr', 'cite', 'q', 'figure', 'figcaption'],
  ],
  allowedAttributes: {
    '*': ['id', 'title', 'lang', 'dir', 'align'],
    a: ['href', 'name', 'rel'],
    img: ['src', 'alt', 'width', 'height'],
    code: ['class'],
    ol: ['start'],
    th: ['colspan', 'rowspan', 'style'],
    td: ['colspan', 'rowspan', 'style'],
    details: ['open'],
  },
  allowedStyles: { '*': { 'text-align': [/^(?:left|right|center)$/] } },
  allowedSchemes: ['http', 'https', 'mailto'],
}

/** Removes nothing, but formats like `policy`: their outputs differ only if `policy` removes something. */
const unrestricted: IOptions = {
  allowedTags: false,
  allowedAttributes: false,
  allowedSchemesAppliedToAttributes: [],
  allowVulnerableTags: true,
}

const maxDepth = 100
/**
 * Paragraphs, list items, table cells and the like. The parser adds empty cells to short rows of a
 * table: without this limit, a table of 64 KB took 45 MB of memory, and the sanitizer up to 1 s.
 */
const maxElements = 10_000
/**
 * In characters. The sanitizer takes 1 s for this many. A long link that is defined once and used often becomes many
 * megabytes of HTML.
 */
const maxHtmlLength = 512 * 1024
class TooDeep extends Error {}

/**
 * Makes the sanitizer throw `TooDeep` as soon as elements are nested too deeply, which would make it slow. The sanitizer
 * does the counting, because only its parser knows which tags are text, for example in comments and attribute values.
 */
function withDepthLimit(options: IOptions): IOptions {
  let depth = 0
  return {
    ...options,
    onOpenTag() {
      if (++depth > maxDepth) throw new TooDeep()
    },
    onCloseTag() {
      depth--
    },
  }
}

class TooManyElements extends Error {}

/** Describes what is wrong with a readme. */
export function readmeFault(content: string): string | undefined {
  const markdown = markdownIt({ html: true })
  // Render every link, so that the sanitizer also checks those that only other Markdown renderers accept.
  markdown.validateLink = () => true
  limitElements(markdown)
  let html: string
  try {
    html = markdown.render(content)
  } catch (error) {
    if (!(error instanceof TooManyElements)) throw error
    return `must not have more than ${maxElements} elements (such as paragraphs, list items and table cells)`
  }
  if (html.length > maxHtmlLength)
    return `must not become more than ${maxHtmlLength} characters of HTML; it becomes ${html.length}`
  try {
    const [safe, whole] = [policy, unrestricted].map((options) => sanitize(html, withDepthLimit(options)))
    if (safe === whole) return undefined
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error
    return `must not nest HTML deeper than ${maxDepth} levels`
  }
  return 'must not contain unsafe HTML, such as scripts, styles, forms, frames or event handlers; only common formatting, and http, https and mailto URLs, are allowed'
}

/** Makes the parser throw `TooManyElements` as soon as it has read too many. */
function limitElements(markdown: MarkdownIt): void {
  let elements = 0
  markdown.block.State = class extends markdown.block.State {
    override push(type: string, tag: string, nesting: Token['nesting']): Token {
      // The text of an element is a token of type `inline`.
      if (nesting >= 0 && type !== 'inline' && ++elements > maxElements) throw new TooManyElements()
      return super.push(type, tag, nesting)
    }
  }
}
