// Texts of the contract as HTML.
import { Html, html } from '../pages/html.ts'

export const prose = (text: string) =>
  text === '' ? html`` : html`${text.split('\n\n').map((paragraph) => html`<p>${inline(paragraph)}</p>`)}`

/** Renders the Markdown that comments of protos may contain: code and strong text. */
export function inline(text: string): Html {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/)
  return html`${parts.map((part, at) => {
    if (at % 2 === 0) return html`${part}`
    return part.startsWith('`')
      ? html`<code>${part.slice(1, -1)}</code>`
      : html`<strong>${part.slice(2, -2)}</strong>`
  })}`
}

/** Lets a browser wrap a long path after a slash rather than inside a segment. */
export const breakable = (path: string) =>
  path.split('/').map((segment, at) => html`${at > 0 && new Html('/<wbr>')}${segment}`)
