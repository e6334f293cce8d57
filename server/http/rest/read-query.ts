// Sets request fields from query parameters. Names are dotted paths in proto or JSON spelling; a list takes several
// values.
import type { DescField, JsonValue } from '@bufbuild/protobuf'
import { create, ScalarType } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { invalidField, malformed } from '../../aip/errors.ts'
import { isBranch, resolvePath } from '../../aip/field-path.ts'
import { unknownParameter } from './query-names.ts'
import { requireSoleMember } from './read-json.ts'
import { readLeaf, typeError } from './read-leaf.ts'

const maxParameters = 2000

export type QueryRules = {
  /** Whether a field is set from the URL path or the body. Such a field is not set from the query. */
  isBound(path: string): boolean
  /** Whether a parameter with this name is an error if it cannot set a field. Otherwise it is ignored, as in v1. */
  isStrictFor(name: string): boolean
}

export function readQuery(target: ReflectMessage, query: string, { isBound, isStrictFor }: QueryRules): void {
  if (query === '') return
  const seen = new Set<string>()
  for (const [name, value] of parameters(query)) {
    const [, path = '', key] = /^([^[]*)(?:\[(.*)\])?$/.exec(name) ?? []
    const fields = resolvePath(target.desc, path)
    const field = fields?.at(-1)
    const canonicalPath = fields ? pathOf(fields) : ''
    if (!fields || !field || isBranch(field) || isBound(canonicalPath)) {
      if (isStrictFor(name)) throw unknownParameter(target.desc, name, isBound)
      continue
    }
    if (value === '' && restrictsResult(field))
      throw invalidField(canonicalPath, 'must not be empty; omit it if it should not restrict the call')
    const owner = openMessage(target, fields.slice(0, -1))
    if (field.fieldKind === 'map') addToMap(owner, field, key, value, canonicalPath)
    else if (key !== undefined) throw invalidField(canonicalPath, 'is not a map and takes no key in brackets')
    else if (field.fieldKind === 'list') addToList(owner, field, value, canonicalPath)
    else {
      if (seen.has(canonicalPath))
        throw invalidField(canonicalPath, 'takes one value, but the query has several')
      seen.add(canonicalPath)
      requireSoleMember(owner, field, canonicalPath)
      readLeaf(owner, field, jsonOf(field, value, canonicalPath), canonicalPath)
    }
  }
}

/** Parameters that do not restrict a list. Clients send them empty for the first page or the default order. */
const mayBeEmpty = new Set(['page_token', 'order_by'])

/** Published clients send these parameters of the token exchange empty instead of omitting them. */
const mayBeEmptyInTokenExchange = new Set(['identity', 'identity_provider'])

/**
 * Whether a field restricts the result of a call. Such a field must not be empty, because an empty value restricts
 * nothing: a script whose variable is empty by mistake would get everything. Only strings can be empty.
 */
const restrictsResult = ({ scalar, name, parent }: DescField) =>
  scalar === ScalarType.STRING &&
  !mayBeEmpty.has(name) &&
  !(mayBeEmptyInTokenExchange.has(name) && parent.typeName === 'platform.oidc.ExchangeRequest')

export function* parameters(query: string): Generator<[string, string]> {
  if (query === '') return
  const pairs = query.split('&')
  if (pairs.length > maxParameters) throw malformed(`the query must have at most ${maxParameters} parameters`)
  for (const pair of pairs) {
    if (pair === '') continue
    if (pair.includes(';')) throw malformed('the query must separate parameters by &, not by ;')
    const at = pair.indexOf('=')
    yield at < 0 ? [decode(pair), ''] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))]
  }
}

function decode(text: string): string {
  if (!/[+%]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed('the query contains a malformed percent escape')
  }
}

/** The message at a path inside `target`. Missing messages on this path are created. */
function openMessage(target: ReflectMessage, path: DescField[]): ReflectMessage {
  let message = target
  for (const [at, field] of path.entries()) {
    if (!isBranch(field)) break
    requireSoleMember(message, field, pathOf(path.slice(0, at + 1)))
    if (!message.isSet(field)) message.set(field, reflect(field.message, create(field.message)))
    message = message.get(field)
  }
  return message
}

const pathOf = (fields: DescField[]) => fields.map(({ name }) => name).join('.')

function addToList(
  owner: ReflectMessage,
  field: DescField & { fieldKind: 'list' },
  value: string,
  path: string,
): void {
  const scratch = reflect(owner.desc, create(owner.desc))
  readLeaf(scratch, field, [jsonOf(field, value, path)], path, () => path)
  for (const element of scratch.get(field)) owner.get(field).add(element)
}

function addToMap(
  owner: ReflectMessage,
  field: DescField & { fieldKind: 'map' },
  key: string | undefined,
  value: string,
  path: string,
): void {
  if (key === undefined) throw invalidField(path, `is a map: write ${path}[key]=value`)
  readLeaf(owner, field, { [key]: jsonOf(field, value, path) }, path)
}

/** The JSON value that corresponds to the text of a parameter. */
function jsonOf(field: DescField, text: string, path: string): JsonValue {
  if (field.enum) return /^-?\d{1,10}$/.test(text) ? Number(text) : text
  if (field.message?.typeName === 'google.protobuf.Duration') return jsonDuration(text)
  switch (field.scalar) {
    case ScalarType.BOOL:
      return booleans.get(text) ?? text
    case ScalarType.STRING:
    case ScalarType.BYTES:
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
    case undefined:
      return text
    default:
      // Whole numbers may be written as 1e3 or 1.0 in JSON, but not in a query.
      if (!/^[+-]?\d+$/.test(text)) throw typeError(field, text, path)
      return text.replace(/^\+/, '')
  }
}

const booleans = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
])

const unitSeconds: Record<string, number> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 }

/** Converts a duration in Go's notation, such as `1h30m`, to that of JSON, `5400s`. Returns other text unchanged. */
function jsonDuration(text: string): string {
  const amounts = text.replace(/^-/, '')
  // Sticky, and with a maximum of digits: otherwise each digit of a long number would be tried as the start of a part.
  const parts = [...amounts.matchAll(/(\d{1,20}(?:\.\d{1,20})?)(h|ms|us|µs|ns|m|s)/gy)]
  const isComplete = parts.map(([part]) => part).join('') === amounts
  if (parts.length === 0 || !isComplete) return text
  const seconds = parts.reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (unitSeconds[unit ?? ''] ?? 0),
    0,
  )
  return `${text.startsWith('-') ? '-' : ''}${seconds.toFixed(9)}s`
}
