// Reads fields of parsed JSON whose types are not known, and throws a RecordError with the path if a type is wrong.
//
// `path` is the path of the object with a separator at the end, such as `affected[2].`, or '' for the record itself. It
// is joined with the key only for an error message, because imports read many fields and few errors occur.
import { RecordError } from './record-error.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Here, `path` is the path of the value itself, without a separator. */
export function fieldsOf(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new RecordError(`${path} must be an object`)
  return value as Fields
}

/** A list that is missing or null is empty. */
export function listIn(fields: Fields, key: string, path: string): readonly unknown[] {
  const value = fields[key] ?? []
  if (!Array.isArray(value)) throw new RecordError(`${path}${key} must be an array`)
  return value
}

export function textIn(fields: Fields, key: string, path: string): string | undefined {
  const value = fields[key] ?? undefined
  if (value !== undefined && typeof value !== 'string')
    throw new RecordError(`${path}${key} must be a string`)
  return value
}

/** A required text of one line, such as a name. */
export function labelIn(fields: Fields, key: string, path: string, maxLength: number): string {
  const value = fields[key]
  if (typeof value !== 'string') throw new RecordError(`${path}${key} must be a string`)
  const fault = labelFault(value, maxLength)
  if (fault) throw new RecordError(`${path}${key} ${fault}`)
  return value
}

/** Control and other invisible characters, and the separators of lines and paragraphs. */
const controlCharacter = /[\p{C}\p{Zl}\p{Zp}]/u

export function labelFault(value: string, maxLength: number): string | undefined {
  if (value === '') return 'must not be empty'
  if (value.length > maxLength) return `must be at most ${maxLength} characters long`
  return controlCharacter.test(value) ? 'must not contain line breaks or control characters' : undefined
}

/** An optional text of any number of lines; '' if it is missing. */
export function noteIn(fields: Fields, key: string, path: string, maxLength: number): string {
  const value = textIn(fields, key, path) ?? ''
  if (value.length > maxLength)
    throw new RecordError(`${path}${key} must be at most ${maxLength} characters long`)
  if (value.includes('\0') || !value.isWellFormed())
    throw new RecordError(`${path}${key} must be well-formed Unicode and must not contain NUL characters`)
  return value
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/
/** The range of a protobuf Timestamp. */
const [earliest, latest] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')]

/** An optional time, in milliseconds. */
export function timeIn(fields: Fields, key: string, path: string): number | undefined {
  const value = fields[key] ?? undefined
  if (value === undefined) return undefined
  const time = typeof value === 'string' && timePattern.test(value) ? Date.parse(value) : Number.NaN
  if (!(time >= earliest && time <= latest) || !isExistingDay(value as string))
    throw new RecordError(`${path}${key} must be a time such as 2026-01-02T03:04:05Z`)
  return time
}

/** Date.parse accepts the 30th of February and returns the 1st or 2nd of March. */
function isExistingDay(text: string): boolean {
  const day = Number(text.slice(8, 10))
  return day <= 28 || day <= new Date(Date.UTC(+text.slice(0, 4), +text.slice(5, 7), 0)).getUTCDate()
}
