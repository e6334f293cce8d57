// What a repo says of itself, in Markdown. It is kept as it was sent, so it must be harmless wherever it is shown.
import type { IOptions } from 'sanitize-html'

const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']

/** What people write in texts that others read. */
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

/** Nothing is taken away, so that the two differ only by what the policy does. */
const anything: IOptions = {
  allowedTags: false,
  allowedAttributes: false,
  allowedSchemesAppliedToAttributes: [],
  allowVulnerableTags: true,
}

const deepest = 100
/** Elements that hold nothing, and so are not closed. */
const empty = new Set(['br', 'hr', 'img', 'wbr', 'source', 'input'])

/** At most how deep the tags of a text can be nested: cheap to tell, and dear to find out by reading it. */
function deepestOf(shown: string): number {
  let [depth, most] = [0, 0]
  for (const [, slash, name = ''] of shown.matchAll(/<(\/?)([a-z][a-z0-9]*)/gi)) {
    if (!empty.has(name.toLowerCase())) depth = Math.max(0, depth + (slash === '/' ? -1 : 1))
    most = Math.max(most, depth)
  }
  return most
}

/** What is wrong with a readme. What checks it is loaded when the first one comes. */
export async function readmeFault(content: string): Promise<string | undefined> {
  const [{ default: markdownIt }, { default: sanitize }] = await Promise.all([
    import('markdown-it'),
    import('sanitize-html'),
  ])
  const markdown = markdownIt({ html: true })
  // Other readers of Markdown make links of what this one would refuse to.
  markdown.validateLink = () => true
  const shown = markdown.render(content)
  if (deepestOf(shown) > deepest) return `must not nest HTML deeper than ${deepest} levels`
  const isHarmless = sanitize(shown, policy) === sanitize(shown, anything)
  return isHarmless ? undefined : 'holds unsafe HTML: no scripts, styles, forms, frames or handlers'
}
