// The fields of a parsed JSON record, of which nothing is known yet. A path is put together only for a complaint.
import { RecordError } from './imported.ts'

export type Fields = Readonly<Record<string, unknown>>

/** `path` names the value itself. */
export function fieldsOf(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new RecordError(`${path} must be an object`)
  return value as Fields
}

// Below, `path` is that of the object with what joins it to the key: `affected[2].`, or '' for the record.

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

/** A text on one line that must be there, such as a name. */
export function labelIn(fields: Fields, key: string, path: string, most: number): string {
  const value = fields[key]
  if (typeof value !== 'string') throw new RecordError(`${path}${key} must be a string`)
  const fault = faultOfLabel(value, most)
  if (fault) throw new RecordError(`${path}${key} ${fault}`)
  return value
}

const unprintable = /\p{C}/u

export function faultOfLabel(value: string, most: number): string | undefined {
  if (value === '') return 'must not be empty'
  if (value.length > most) return `must be at most ${most} characters long`
  return unprintable.test(value) ? 'must hold no line breaks or control characters' : undefined
}

/** A text of several lines, or '' where there is none. */
export function noteIn(fields: Fields, key: string, path: string, most: number): string {
  const value = textIn(fields, key, path) ?? ''
  if (value.length > most) throw new RecordError(`${path}${key} must be at most ${most} characters long`)
  if (value.includes('\0') || !value.isWellFormed())
    throw new RecordError(`${path}${key} must be well-formed and hold no NUL character`)
  return value
}

const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/
/** What a Timestamp can hold: the years 1 to 9999. */
const [earliest, latest] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')]

/** In milliseconds. */
export function timeIn(fields: Fields, key: string, path: string): number | undefined {
  const value = fields[key] ?? undefined
  if (value === undefined) return undefined
  const time = typeof value === 'string' && timeForm.test(value) ? Date.parse(value) : Number.NaN
  if (!(time >= earliest && time <= latest) || !isDay(value as string))
    throw new RecordError(`${path}${key} must be a time such as 2026-01-02T03:04:05Z`)
  return time
}

/** Date.parse takes the 30th of February for the first of March. */
function isDay(text: string): boolean {
  const day = Number(text.slice(8, 10))
  return day <= 28 || day <= new Date(Date.UTC(+text.slice(0, 4), +text.slice(5, 7), 0)).getUTCDate()
}
