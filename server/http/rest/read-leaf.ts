// Reads one JSON value into a leaf: a field that is read as a whole, such as a string or a list of strings. Values that
// ProtoJSON does not allow are rejected, even if the parser of protobuf-es accepts them.
import type { DescEnum, DescField, JsonValue } from '@bufbuild/protobuf'
import { create, mergeFromJson, ScalarType } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { rulesOf } from '@stemma/api/method.ts'
import type { StatusError } from '../../aip/errors.ts'
import { invalidField } from '../../aip/errors.ts'

export type JsonObject = { [key: string]: JsonValue }

export const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `elementPath` returns the path of a list element for errors. Elements in a query string have no index. */
export function readLeaf(
  target: ReflectMessage,
  field: DescField,
  value: JsonValue,
  path: string,
  elementPath = (at: number) => `${path}[${at}]`,
): void {
  const entries = readableEntries(field, value, path)
  try {
    if (isFieldMask(field) && typeof value === 'string') {
      // Paths are stored as they are spelled: parseMask accepts both the proto and the JSON spelling.
      target.set(field, reflect(field.message, create(field.message, { paths: value.split(',') })))
    } else if (isString(field) && typeof value === 'string' && value.isWellFormed()) target.set(field, value)
    else mergeFromJson(target.desc, target.message, { [field.jsonName]: checked(field, entries) })
  } catch {
    throw elementError(field, entries, elementPath) ?? typeError(field, value, path)
  }
}

/** The most entries that are read of a map, or of a list without a rule. Most rules allow at most 1000. */
const maxEntries = 10_000

/**
 * The value without the elements of a list that need not be read. One more than its rule allows is enough for the
 * error, which is reported later, if the caller is authorized.
 */
export function readableEntries<V extends JsonValue>(
  field: DescField,
  value: V,
  path: string,
): V | JsonValue[] {
  const { fieldKind } = field
  if (fieldKind === 'list' && Array.isArray(value)) {
    const { maxItems } = rulesOf(field)
    if (maxItems === 0) requireFewEntries(field, value.length, path)
    else if (value.length > maxItems) return value.slice(0, maxItems + 1)
  } else if (fieldKind === 'map' && isObject(value)) requireFewEntries(field, Object.keys(value).length, path)
  return value
}

function requireFewEntries(field: DescField, count: number, path: string): void {
  if (count > maxEntries)
    throw invalidField(path, `must have at most ${rulesOf(field).maxItems || maxEntries} entries`)
}

/** The error for the first wrong element of a list. */
function elementError(
  field: DescField,
  value: JsonValue,
  elementPath: (at: number) => string,
): StatusError | undefined {
  if (field.fieldKind !== 'list' || field.listKind === 'message' || !Array.isArray(value)) return undefined
  const isBad = (element: JsonValue) => {
    try {
      mergeFromJson(field.parent, create(field.parent), {
        [field.jsonName]: [checkedElement(field, element)],
      })
      return false
    } catch {
      return true
    }
  }
  const at = value.findIndex(isBad)
  if (at < 0) return undefined
  return wrongValue(elementPath(at), expectedElement(field), value[at] ?? null)
}

const isFieldMask = (field: DescField): field is DescField & { fieldKind: 'message' } =>
  field.fieldKind === 'message' && field.message.typeName === 'google.protobuf.FieldMask'

const isString = (field: DescField) => field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING

export function typeError(field: DescField, value: JsonValue, path: string): StatusError {
  return rulesOf(field).secret
    ? invalidField(path, `must be ${expected(field)}`)
    : wrongValue(path, expected(field), value)
}

function wrongValue(path: string, expectation: string, value: JsonValue): StatusError {
  // An array for a field that is not a list may have any length.
  const searched = Array.isArray(value) ? value.slice(0, maxEntries) : value
  const texts = typeof searched === 'object' && searched !== null ? Object.entries(searched).flat() : [value]
  const isUnicode = texts.every((text) => typeof text !== 'string' || text.isWellFormed())
  return invalidField(
    path,
    isUnicode
      ? `must be ${expectation}, not ${describe(value)}`
      : 'must be well-formed Unicode; it contains a lone surrogate',
  )
}

/** The value as it is passed to protobuf-es. Throws if ProtoJSON does not allow it. */
function checked(field: DescField, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((element) => checkedElement(field, element))
  if (!isObject(value)) return checkedElement(field, value)
  const hasIntegerKeys = field.fieldKind === 'map' && integers.has(field.mapKey)
  if (hasIntegerKeys && !Object.keys(value).every((key) => integerKey.test(key)))
    throw new Error('not a whole number')
  return Object.fromEntries(
    Object.entries(value).map(([key, element]) => [key, checkedElement(field, element)]),
  )
}

function checkedElement({ enum: desc, message, scalar }: DescField, value: JsonValue): JsonValue {
  if (desc && typeof value === 'number' && !hasNumber(desc, value)) throw new Error('not a value of the enum')
  if (message?.typeName === 'google.protobuf.Duration' && !duration.test(String(value)))
    throw new Error('not a duration')
  return scalar !== undefined && integers.has(scalar) ? wholeNumber(value) : value
}

const hasNumber = (desc: DescEnum, number: number) => desc.values.some((value) => value.number === number)

const duration = /^-?\d{1,12}(?:\.\d{1,9})?s$/

const integers = new Set([
  ...[ScalarType.INT32, ScalarType.UINT32, ScalarType.SINT32, ScalarType.FIXED32, ScalarType.SFIXED32],
  ...[ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64],
])

const integerKey = /^-?\d{1,20}$/
const numeral = /^-?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,4})?$/

/**
 * `1.0` and `1e2` are whole numbers. JSON.parse rounds numbers beyond 2^53, so such numbers must be sent as strings.
 */
function wholeNumber(value: JsonValue): JsonValue {
  if (typeof value !== 'string' && typeof value !== 'number') return value
  if (typeof value === 'string' && /^-?\d{1,40}$/.test(value)) return value
  const number = typeof value === 'number' || numeral.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new Error('not a whole number')
  return number
}

function expected(field: DescField): string {
  switch (field.fieldKind) {
    case 'enum':
      return oneOf(field.enum)
    case 'list':
      return 'a JSON array of valid values'
    case 'map':
      return 'a JSON object of valid values'
    case 'message':
      return `a ${field.message.name} in its JSON form`
    case 'scalar':
      return scalarNames.get(field.scalar) ?? 'a whole number in range'
  }
}

function expectedElement({ enum: desc, scalar }: DescField): string {
  return desc ? oneOf(desc) : (scalarNames.get(scalar ?? ScalarType.INT32) ?? 'a whole number in range')
}

const maxNames = 12

function oneOf({ values }: DescEnum): string {
  const names = values.map(({ name }) => name)
  const ending = names.length > maxNames ? `, … (${names.length} in all)` : ''
  return `one of ${names.slice(0, maxNames).join(', ')}${ending}`
}

const scalarNames = new Map([
  [ScalarType.BOOL, 'true or false'],
  [ScalarType.STRING, 'a string'],
  [ScalarType.BYTES, 'base64 text'],
  [ScalarType.FLOAT, 'a number in range'],
  [ScalarType.DOUBLE, 'a number in range'],
])

/** A value for an error message: short, and safe to send back. */
export function describe(value: JsonValue): string {
  if (Array.isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 40 ? `${text.slice(0, 40)}…`.toWellFormed() : text
}
