// Path templates of google.api.http: literals, `*`, `**`, `{field.path=pattern}` and a final `:verb`.

type Token = { kind: 'literal'; text: string } | { kind: 'one' } | { kind: 'many' }

export type Template = {
  tokens: Token[]
  /** The index of the `**` token, or -1. */
  manyIndex: number
  /** The custom verb (AIP-136); empty if there is none. */
  customVerb: string
  /** The custom verb with its colon, as it appears at the end of a path. */
  ending: string
  /**
   * The request fields that the path fills: each from the tokens with the index `from` up to, but not including, `to`.
   */
  variables: { field: string; from: number; to: number }[]
}

export function parseTemplate(text: string): Template {
  const [, path = '', customVerb = ''] = /^\/(.*?)(?::([A-Za-z0-9_]+))?$/.exec(text) ?? []
  const template: Template = {
    tokens: [],
    manyIndex: -1,
    customVerb,
    ending: `:${customVerb}`,
    variables: [],
  }
  for (const part of splitOutsideBraces(path)) {
    const [, field, pattern = '*'] = /^\{([A-Za-z0-9_.]+)(?:=(.*))?\}$/.exec(part) ?? []
    const from = template.tokens.length
    for (const segment of (field === undefined ? part : pattern).split('/'))
      template.tokens.push(tokenOf(segment))
    if (field !== undefined) template.variables.push({ field, from, to: template.tokens.length })
  }
  if (template.tokens.filter(({ kind }) => kind === 'many').length > 1)
    throw new Error(`${text} contains ** twice`)
  template.manyIndex = template.tokens.findIndex(({ kind }) => kind === 'many')
  return template
}

function splitOutsideBraces(path: string): string[] {
  return path.match(/(?:\{[^}]*\}|[^/{])+/g) ?? []
}

function tokenOf(segment: string): Token {
  if (segment === '*') return { kind: 'one' }
  if (segment === '**') return { kind: 'many' }
  return { kind: 'literal', text: segment }
}

/** The request fields that a path fills; undefined if it does not match. `**` matches all segments that remain. */
export function matchTemplate(
  { tokens, manyIndex, customVerb, ending, variables }: Template,
  segments: readonly string[],
): Map<string, string> | undefined {
  // With `**`, `extra` may be -1: `**` is one token but may match no segment.
  const extra = segments.length - tokens.length
  if (manyIndex < 0 ? extra !== 0 : extra < -1) return undefined
  if (customVerb !== '' && !(segments.at(-1) ?? '').endsWith(ending)) return undefined
  const path = customVerb === '' ? segments : withoutEnding(segments, ending.length)
  const positionOf = (token: number) => (manyIndex >= 0 && token > manyIndex ? token + extra : token)
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]
    if (token?.kind === 'literal' && path[positionOf(index)] !== token.text) return undefined
  }
  const fields = new Map<string, string>()
  for (const { field, from, to } of variables) {
    const [start, end] = [positionOf(from), positionOf(to)]
    fields.set(field, end === start + 1 ? (path[start] ?? '') : path.slice(start, end).join('/'))
  }
  return fields
}

function withoutEnding(segments: readonly string[], length: number): string[] {
  return [...segments.slice(0, -1), (segments.at(-1) ?? '').slice(0, -length)]
}
