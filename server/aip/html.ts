// Pages as text. Whatever is put into one is escaped unless it is a piece of a page itself.
import { createHash } from 'node:crypto'

export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | Html[] | string | number | false | undefined

export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, at) => text + textOf(parts[at - 1]) + string))
}

function textOf(part: Part): string {
  if (part === undefined || part === false) return ''
  if (Array.isArray(part)) return part.map(textOf).join('')
  return part instanceof Html ? part.text : escaped(String(part))
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character] ?? '')

/** The colours of our pages, light or dark as the person likes it. */
export const palette = `:root { color-scheme: light dark; --ink: #1c1f23; --quiet: #5b636d; --paper: #f4f3ef; --card: #fff; --line: #8a929c;
  --leaf: #1c6b48; --leaf-ink: #fff; --alarm: #a32020; --alarm-paper: #fdeeee }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e7e2; --quiet: #a7adb5; --paper: #16181b; --card: #1f2226;
  --line: #6d757f; --leaf: #6fcf9f; --leaf-ink: #0d2318; --alarm: #ff9d9d; --alarm-paper: #3a1d1d } }
`

/** Lets a style or a script within a page pass its policy. */
export const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
