// Reads one JSON value into a field that nothing lies inside of. What ProtoJSON does not allow is refused, also
// where the parser would take it.
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

/** `elementPath` tells how an element of a list is named; in a query they have no numbers. */
export function readLeaf(
  target: ReflectMessage,
  field: DescField,
  value: JsonValue,
  path: string,
  elementPath = (at: number) => `${path}[${at}]`,
): void {
  try {
    if (isFieldMask(field) && typeof value === 'string') {
      // Paths keep their spelling; whoever applies the mask accepts both.
      target.set(field, reflect(field.message, create(field.message, { paths: value.split(',') })))
    } else if (isText(field) && typeof value === 'string' && value.isWellFormed()) target.set(field, value)
    else mergeFromJson(target.desc, target.message, { [field.jsonName]: strict(field, value) })
  } catch {
    throw badElement(field, value, elementPath) ?? refused(field, value, path)
  }
}

/** The first element of a list that is not what it should be. */
function badElement(
  field: DescField,
  value: JsonValue,
  path: (at: number) => string,
): StatusError | undefined {
  if (field.fieldKind !== 'list' || field.listKind === 'message' || !Array.isArray(value)) return undefined
  const isBad = (element: JsonValue) => {
    try {
      mergeFromJson(field.parent, create(field.parent), { [field.jsonName]: [strictOne(field, element)] })
      return false
    } catch {
      return true
    }
  }
  const at = value.findIndex(isBad)
  if (at < 0) return undefined
  return complaint(path(at), expectedOne(field), value[at] ?? null)
}

const isFieldMask = (field: DescField): field is DescField & { fieldKind: 'message' } =>
  field.fieldKind === 'message' && field.message.typeName === 'google.protobuf.FieldMask'

const isText = (field: DescField) => field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING

export function refused(field: DescField, value: JsonValue, path: string): StatusError {
  return rulesOf(field).secret
    ? invalidField(path, `must be ${expected(field)}`)
    : complaint(path, expected(field), value)
}

function complaint(path: string, wanted: string, value: JsonValue): StatusError {
  const texts = typeof value === 'object' && value !== null ? Object.entries(value).flat() : [value]
  const isWhole = texts.every((text) => typeof text !== 'string' || text.isWellFormed())
  return invalidField(
    path,
    isWhole
      ? `must be ${wanted}, not ${describe(value)}`
      : 'must be well-formed Unicode; it holds a lone surrogate',
  )
}

function strict(field: DescField, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((element) => strictOne(field, element))
  if (!isObject(value)) return strictOne(field, value)
  const isCounted = field.fieldKind === 'map' && integers.has(field.mapKey)
  if (isCounted && !Object.keys(value).every((key) => wholeKey.test(key))) throw new Error('no whole number')
  return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, strictOne(field, element)]))
}

function strictOne({ enum: desc, message, scalar }: DescField, value: JsonValue): JsonValue {
  if (desc && typeof value === 'number' && !isKnown(desc, value)) throw new Error('no value of the enum')
  if (message?.typeName === 'google.protobuf.Duration' && !duration.test(String(value)))
    throw new Error('no duration')
  return scalar !== undefined && integers.has(scalar) ? wholeNumber(value) : value
}

const isKnown = (desc: DescEnum, number: number) => desc.values.some((value) => value.number === number)

const duration = /^-?\d{1,12}(?:\.\d{1,9})?s$/

const integers = new Set([
  ...[ScalarType.INT32, ScalarType.UINT32, ScalarType.SINT32, ScalarType.FIXED32, ScalarType.SFIXED32],
  ...[ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64],
])

const wholeKey = /^-?\d{1,20}$/
const numeral = /^-?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,4})?$/

/** `1.0` and `1e2` are whole. A number beyond 2^53 has lost its last digits before we see it; a string has not. */
function wholeNumber(value: JsonValue): JsonValue {
  if (typeof value !== 'string' && typeof value !== 'number') return value
  if (typeof value === 'string' && /^-?\d{1,40}$/.test(value)) return value
  const number = typeof value === 'number' || numeral.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new Error('no whole number')
  return number
}

function expected(field: DescField): string {
  switch (field.fieldKind) {
    case 'enum':
      return oneOf(field.enum)
    case 'list':
      return 'a JSON array of the right values'
    case 'map':
      return 'a JSON object of the right values'
    case 'message':
      return `a ${field.message.name} as JSON writes it`
    case 'scalar':
      return scalarNames.get(field.scalar) ?? 'a number in range'
  }
}

function expectedOne({ enum: desc, scalar }: DescField): string {
  return desc ? oneOf(desc) : (scalarNames.get(scalar ?? ScalarType.INT32) ?? 'a number in range')
}

const mostNamed = 12

function oneOf({ values }: DescEnum): string {
  const names = values.map(({ name }) => name)
  const more = names.length > mostNamed ? `, … (${names.length} in all)` : ''
  return `one of ${names.slice(0, mostNamed).join(', ')}${more}`
}

const scalarNames = new Map([
  [ScalarType.BOOL, 'true or false'],
  [ScalarType.STRING, 'a string'],
  [ScalarType.BYTES, 'base64 text'],
])

/** A value in few words, safe to send back. */
export function describe(value: JsonValue): string {
  if (Array.isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 40 ? `${text.slice(0, 40)}…`.toWellFormed() : text
}
