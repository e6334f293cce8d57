// HTML as template strings. Values are escaped unless they are Html.

export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | Html[] | string | number | false | undefined

export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + textOf(parts[index - 1]) + string))
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
