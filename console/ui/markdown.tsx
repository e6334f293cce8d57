// Shows Markdown that anyone may have written. It becomes elements; HTML in it is shown as text. Links lead only to
// https and mailto. Images become links, because the page loads nothing from other origins.
import type { Token, Tokens } from 'marked'
import { Lexer } from 'marked'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { safeUrl } from './safe-url.ts'

/** Larger or deeper texts are shortened: the page would become slow, and the stack is limited. */
const maxElements = 5000
const maxDepth = 40

export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => tokensOf(text), [text])
  if (!tokens)
    return (
      <p class="readme" dir="auto">
        {text}
      </p>
    )
  const budget = { left: maxElements }
  const content = blocks(tokens, budget, 0)
  return (
    <div class="markdown">
      {content}
      {budget.left < 0 && <p class="quiet">The text is shortened.</p>}
    </div>
  )
}

/** The lexer calls itself for each level, so a text with thousands of levels exceeds the stack. */
function tokensOf(text: string): Token[] | undefined {
  try {
    return new Lexer({ gfm: true }).lex(text)
  } catch {
    return undefined
  }
}

type Budget = { left: number }

type Draw = (token: Token, budget: Budget, depth: number, key: number) => ComponentChildren

function drawAll(tokens: readonly Token[], budget: Budget, depth: number, draw: Draw): ComponentChildren[] {
  if (depth > maxDepth) return ['…']
  const drawn: ComponentChildren[] = []
  for (const [at, token] of tokens.entries()) {
    if (budget.left-- <= 0) break
    drawn.push(draw(token, budget, depth + 1, at))
  }
  return drawn
}

const blocks = (tokens: readonly Token[] | undefined, budget: Budget, depth: number) =>
  drawAll(tokens ?? [], budget, depth, block)
const inlines = (tokens: readonly Token[] | undefined, budget: Budget, depth: number) =>
  drawAll(tokens ?? [], budget, depth, inline)

/** The page and the section have the first two levels of headings. */
const headings = ['h3', 'h4', 'h5', 'h6'] as const

function block(token: Token, budget: Budget, depth: number, key: number): ComponentChildren {
  switch (token.type) {
    case 'heading': {
      const Heading = headings[Math.min(token.depth - 1, headings.length - 1)] ?? 'h6'
      return (
        <Heading key={key} dir="auto">
          {inlines(token.tokens, budget, depth)}
        </Heading>
      )
    }
    case 'paragraph':
      return (
        <p key={key} dir="auto">
          {inlines(token.tokens, budget, depth)}
        </p>
      )
    case 'code':
      return (
        <pre key={key} tabIndex={0} aria-label="Code">
          <code>{token.text}</code>
        </pre>
      )
    case 'blockquote':
      return <blockquote key={key}>{blocks(token.tokens, budget, depth)}</blockquote>
    case 'list':
      return list(token as Tokens.List, budget, depth, key)
    case 'table':
      return table(token as Tokens.Table, budget, depth, key)
    case 'hr':
      return <hr key={key} />
    case 'space':
    case 'def':
      return null
    case 'html':
      return isComment(token.text) ? null : <p key={key}>{withoutComments(token.text)}</p>
    default:
      return inline(token, budget, depth, key)
  }
}

/**
 * A comment without an end is kept. The pattern matches it up to the end of the text, because the
 * search would otherwise take quadratic time.
 */
const withoutComments = (text: string) =>
  text.replace(/<!--[\s\S]*?(-->|$)/g, (comment, end: string) => (end === '' ? comment : ''))

const isComment = (text: string) => withoutComments(text).trim() === ''

function list({ ordered, start, items }: Tokens.List, budget: Budget, depth: number, key: number) {
  const content = drawAll(items, budget, depth, (item, left, level, at) => (
    <li key={at} dir="auto">
      {(item as Tokens.ListItem).task && ((item as Tokens.ListItem).checked ? '☑ ' : '☐ ')}
      {blocks((item as Tokens.ListItem).tokens, left, level)}
    </li>
  ))
  return ordered ? (
    <ol key={key} start={Number(start) || 1}>
      {content}
    </ol>
  ) : (
    <ul key={key}>{content}</ul>
  )
}

function table({ header, rows }: Tokens.Table, budget: Budget, depth: number, key: number) {
  const cells = (row: readonly Tokens.TableCell[], Cell: 'th' | 'td') =>
    row.map(({ tokens }, at) =>
      budget.left-- > 0 ? (
        <Cell key={at} dir="auto">
          {inlines(tokens, budget, depth + 1)}
        </Cell>
      ) : null,
    )
  return (
    <div key={key} class="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>{cells(header, 'th')}</tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (budget.left-- > 0 ? <tr key={at}>{cells(row, 'td')}</tr> : null))}
        </tbody>
      </table>
    </div>
  )
}

function inline(token: Token, budget: Budget, depth: number, key: number): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong key={key}>{inlines(token.tokens, budget, depth)}</strong>
    case 'em':
      return <em key={key}>{inlines(token.tokens, budget, depth)}</em>
    case 'del':
      return <del key={key}>{inlines(token.tokens, budget, depth)}</del>
    case 'codespan':
      return <code key={key}>{token.text}</code>
    case 'br':
      return <br key={key} />
    case 'link':
      return externalLink(token.href, inlines(token.tokens, budget, depth), key)
    case 'image':
      return externalLink(token.href, token.text || 'image', key)
    case 'html':
      return withoutComments(token.text)
    case 'text':
      return token.tokens ? inlines(token.tokens, budget, depth) : decodeCharacterReferences(token.text)
    default:
      return 'text' in token && typeof token.text === 'string' ? token.text : token.raw
  }
}

/** Relative links and links with other schemes are shown as text. */
function externalLink(href: string, content: ComponentChildren, key: number): ComponentChildren {
  const url = safeUrl(href)
  return url ? (
    <a key={key} href={url} target="_blank" rel="noopener noreferrer nofollow">
      {content}
    </a>
  ) : (
    content
  )
}

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
