// Turns Markdown into a small tree that a worker can send to the page. HTML in it becomes text.
import type { Token, Tokens } from 'marked'
import { Lexer } from 'marked'

type Tag =
  | ('h3' | 'h4' | 'h5' | 'h6' | 'p' | 'pre' | 'blockquote' | 'hr' | 'ul' | 'ol' | 'li' | 'table' | 'tr')
  | ('th' | 'td' | 'strong' | 'em' | 'del' | 'code' | 'br' | 'a')

/** `start` is the number of the first item of an `ol`, `href` the target of an `a`, which is not checked. */
export type MarkdownElement = { tag: Tag; content: MarkdownNode[]; start?: number; href?: string }

export type MarkdownNode = string | MarkdownElement

export type MarkdownTree = { nodes: MarkdownNode[]; isShortened: boolean }

/** Larger or deeper texts are shortened: the page would become slow, and the stack is limited. */
const maxElements = 5000
const maxDepth = 40
/** In characters. A definition of a link can be used often, and each use copies its target. */
const maxHrefLength = 2000

/** Throws if the text has thousands of levels: the lexer calls itself for each level, which exceeds the stack. */
export function parseMarkdown(text: string): MarkdownTree {
  const budget = { left: maxElements }
  const nodes = blocks(new Lexer({ gfm: true }).lex(text), { budget, depth: 0, isInLink: false })
  return { nodes, isShortened: budget.left < 0 }
}

/** `budget` is shared by the whole text. */
type Context = { budget: { left: number }; depth: number; isInLink: boolean }

type Convert<T> = (token: T, context: Context) => MarkdownNode[]

function convertAll<T>(
  tokens: readonly T[] | undefined,
  context: Context,
  convert: Convert<T>,
): MarkdownNode[] {
  const { budget, depth } = context
  if (depth > maxDepth) return ['…']
  const nodes: MarkdownNode[] = []
  for (const token of tokens ?? []) {
    if (budget.left-- <= 0) break
    nodes.push(...convert(token, { ...context, depth: depth + 1 }))
  }
  return nodes
}

const blocks = (tokens: readonly Token[] | undefined, context: Context) => convertAll(tokens, context, block)
const inlines = (tokens: readonly Token[] | undefined, context: Context) =>
  convertAll(tokens, context, inline)

/** The page and the section have the first two levels of headings. */
const headings = ['h3', 'h4', 'h5', 'h6'] as const

function block(token: Token, context: Context): MarkdownNode[] {
  switch (token.type) {
    case 'heading': {
      const tag = headings[Math.min(token.depth - 1, headings.length - 1)] ?? 'h6'
      return [{ tag, content: inlines(token.tokens, context) }]
    }
    case 'paragraph':
      return [{ tag: 'p', content: inlines(token.tokens, context) }]
    case 'code':
      return [{ tag: 'pre', content: [token.text] }]
    case 'blockquote':
      return [{ tag: 'blockquote', content: blocks(token.tokens, context) }]
    case 'list':
      return [list(token as Tokens.List, context)]
    case 'table':
      return [table(token as Tokens.Table, context)]
    case 'hr':
      return [{ tag: 'hr', content: [] }]
    case 'space':
    case 'def':
      return []
    case 'html':
      return isComment(token.text) ? [] : [{ tag: 'p', content: [withoutComments(token.text)] }]
    default:
      return inline(token, context)
  }
}

/**
 * A comment without an end is kept. The pattern matches it up to the end of the text, because the
 * search would otherwise take quadratic time.
 */
const withoutComments = (text: string) =>
  text.replace(/<!--[\s\S]*?(-->|$)/g, (comment, end: string) => (end === '' ? comment : ''))

const isComment = (text: string) => withoutComments(text).trim() === ''

function list({ ordered, start, items }: Tokens.List, context: Context): MarkdownElement {
  const content = convertAll(items, context, ({ tokens }, inside) => [
    { tag: 'li', content: blocks(tokens, inside) },
  ])
  return ordered ? { tag: 'ol', start: Number(start), content } : { tag: 'ul', content }
}

function table({ header, rows }: Tokens.Table, context: Context): MarkdownElement {
  const rowOf =
    (tag: 'th' | 'td'): Convert<readonly Tokens.TableCell[]> =>
    (cells, inRow) => [
      {
        tag: 'tr',
        content: convertAll(cells, inRow, ({ tokens }, inCell) => [
          { tag, content: inlines(tokens, inCell) },
        ]),
      },
    ]
  return {
    tag: 'table',
    content: [...convertAll([header], context, rowOf('th')), ...convertAll(rows, context, rowOf('td'))],
  }
}

function inline(token: Token, context: Context): MarkdownNode[] {
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del':
      return [{ tag: token.type, content: inlines(token.tokens, context) }]
    case 'codespan':
      return [{ tag: 'code', content: [token.text] }]
    case 'br':
      return [{ tag: 'br', content: [] }]
    case 'checkbox':
      return [token.checked ? '☑ ' : '☐ ']
    case 'link':
      return link(token.href, inlines(token.tokens, { ...context, isInLink: true }))
    case 'image': {
      const content = [decodeCharacterReferences(token.text) || 'image']
      return context.isInLink ? content : link(token.href, content)
    }
    case 'html':
      return [withoutComments(token.text)]
    case 'text':
      return token.tokens ? inlines(token.tokens, context) : [decodeCharacterReferences(token.text)]
    default:
      return ['text' in token && typeof token.text === 'string' ? token.text : token.raw]
  }
}

const link = (href: string, content: MarkdownNode[]): MarkdownNode[] =>
  href.length > maxHrefLength ? content : [{ tag: 'a', href: decodeCharacterReferences(href), content }]

const characters: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', copy: '©', mdash: '—', ndash: '–' },
}

/** The lexer does not decode character references such as `&lt;`. */
const decodeCharacterReferences = (text: string) =>
  text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name) return characters[name.toLowerCase()] ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
