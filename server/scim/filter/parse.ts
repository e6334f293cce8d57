// Parses filters (RFC 7644 section 3.4.2.2), and the paths of PATCH operations, which contain filters.
import { badRequest } from '../errors.ts'
import { maxFilterDepth, maxFilterTerms } from '../limits.ts'
import type { Token } from './tokens.ts'
import { tokensOf } from './tokens.ts'

export type Operator = 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'ge' | 'lt' | 'le'
export type Literal = string | number | boolean | null

/** `path` is the name of an attribute, as it was written. */
export type Filter =
  | { kind: 'and'; parts: Filter[] }
  | { kind: 'or'; parts: Filter[] }
  | { kind: 'not'; part: Filter }
  | { kind: 'present'; path: string }
  | { kind: 'compare'; path: string; operator: Operator; value: Literal }
  /** `emails[type eq "work"]`: one value of the attribute matches the whole filter in brackets. */
  | { kind: 'value'; path: string; part: Filter }

const operators = new Set(['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'])

export function parseFilter(text: string): Filter {
  const reader = openReader(tokensOf(text))
  const filter = parseOr(reader, 0)
  if (reader.peek()) throw wrong(reader.peek())
  return filter
}

/**
 * A path such as `emails[type eq "work"].value`, where `sub` is `value`. Without a filter, `attribute` is the whole
 * path, such as `name.givenName`, and `sub` is undefined.
 */
export type ParsedPath = { attribute: string; filter: Filter | undefined; sub: string | undefined }

export function parsePath(text: string): ParsedPath {
  const open = text.indexOf('[')
  if (open < 0) return { attribute: text.trim(), filter: undefined, sub: undefined }
  const close = text.lastIndexOf(']')
  const rest = text.slice(close + 1).trim()
  if (close < open || (rest !== '' && !/^\.[\w$-]+$/.test(rest)))
    throw badRequest('invalidPath', 'a path must look like emails[type eq "work"].value')
  return {
    attribute: text.slice(0, open).trim(),
    filter: parseFilter(text.slice(open + 1, close)),
    sub: rest === '' ? undefined : rest.slice(1),
  }
}

type Reader = {
  peek(): Token | undefined
  next(): Token | undefined
  /** Counts a comparison. */
  addTerm(): void
}

function openReader(tokens: readonly Token[]): Reader {
  let [at, terms] = [0, 0]
  return {
    peek: () => tokens[at],
    next: () => tokens[at++],
    addTerm() {
      terms++
      if (terms > maxFilterTerms)
        throw badRequest('invalidFilter', `a filter must have at most ${maxFilterTerms} comparisons`)
    },
  }
}

const parseOr = (reader: Reader, depth: number) => parseChain(reader, depth, 'or', parseAnd)
const parseAnd = (reader: Reader, depth: number) => parseChain(reader, depth, 'and', parseTerm)

function parseChain(
  reader: Reader,
  depth: number,
  kind: 'and' | 'or',
  parsePart: (reader: Reader, depth: number) => Filter,
): Filter {
  const first = parsePart(reader, depth)
  const parts = [first]
  while (isWord(reader.peek(), kind)) {
    reader.next()
    parts.push(parsePart(reader, depth))
  }
  return parts.length === 1 ? first : { kind, parts }
}

function parseTerm(reader: Reader, depth: number): Filter {
  if (depth > maxFilterDepth)
    throw badRequest('invalidFilter', `a filter must be nested at most ${maxFilterDepth} deep`)
  const token = reader.next()
  if (isSymbol(token, '(')) return parseInner(reader, depth, ')')
  if (isWord(token, 'not') && isSymbol(reader.peek(), '(')) {
    reader.next()
    return { kind: 'not', part: parseInner(reader, depth, ')') }
  }
  if (token?.kind !== 'word') throw wrong(token)
  reader.addTerm()
  return parseComparison(reader, depth, token.text)
}

function parseInner(reader: Reader, depth: number, end: string): Filter {
  const inner = parseOr(reader, depth + 1)
  const close = reader.next()
  if (!isSymbol(close, end)) throw wrong(close)
  return inner
}

function parseComparison(reader: Reader, depth: number, path: string): Filter {
  const token = reader.next()
  if (isSymbol(token, '[')) return { kind: 'value', path, part: parseInner(reader, depth, ']') }
  const operator = token?.kind === 'word' ? token.text.toLowerCase() : ''
  if (operator === 'pr') return { kind: 'present', path }
  if (!operators.has(operator)) throw wrong(token)
  return { kind: 'compare', path, operator: operator as Operator, value: literalOf(reader.next()) } // see `operators`
}

function literalOf(token: Token | undefined): Literal {
  if (token?.kind === 'string') return token.text
  if (token?.kind === 'number') return Number(token.text)
  const word = token?.kind === 'word' ? token.text.toLowerCase() : ''
  if (word === 'true' || word === 'false') return word === 'true'
  if (word === 'null') return null
  throw badRequest(
    'invalidFilter',
    'the value of a comparison must be a string in quotes, a number, true, false or null',
  )
}

const isWord = (token: Token | undefined, word: string) =>
  token?.kind === 'word' && token.text.toLowerCase() === word
const isSymbol = (token: Token | undefined, symbol: string) =>
  token?.kind === 'symbol' && token.text === symbol

const wrong = (token: Token | undefined) =>
  badRequest(
    'invalidFilter',
    token
      ? `the filter is not valid at ${JSON.stringify(token.text.slice(0, 40))}`
      : 'the filter is incomplete',
  )
