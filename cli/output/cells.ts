// Values of fields as text for people.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { shortName } from '../contract/enum-names.ts'
import { singleLine } from '../single-line.ts'

/** The text of the first field of `paths` that is not empty. If `now` is given, times are shown as ages. */
export function cellText(message: DescMessage, row: JsonObject, paths: string[], now?: number): string {
  for (const path of paths) {
    const text = textAt(message, row, path.split('.'), now)
    if (text !== '') return text
  }
  return ''
}

function textAt(message: DescMessage, row: JsonObject, [first, ...rest]: string[], now?: number): string {
  const field = message.fields.find(({ jsonName }) => jsonName === first)
  const value = field && row[field.jsonName]
  if (!field || value === undefined || value === null) return ''
  // A path into a list leads to its last element, such as the newest attempt.
  const inner = Array.isArray(value) ? value.at(-1) : value
  if (rest.length > 0 && field.message)
    return inner ? textAt(field.message, inner as JsonObject, rest, now) : ''
  return valueText(field, value, now)
}

export function valueText(field: DescField, value: JsonValue, now?: number): string {
  if (Array.isArray(value)) return value.map((element) => elementText(field, element, now)).join(',')
  return elementText(field, value, now)
}

function elementText(field: DescField, value: JsonValue, now?: number): string {
  if (field.enum && typeof value === 'string') return singleLine(shortName(field.enum, value))
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (now !== undefined && field.message?.typeName === 'google.protobuf.Timestamp')
    return ageOf(String(value), now)
  return singleLine(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

const units: [milliseconds: number, unit: string][] = [
  [86_400_000 * 365, 'y'],
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
]

/** The age of a time in its largest unit, such as `5m` or `3d`; `in 3d` for a time in the future. */
export function ageOf(time: string, now: number): string {
  const difference = now - Date.parse(time)
  const length = Math.abs(difference)
  const [size, unit] = units.find(([milliseconds]) => length >= milliseconds) ?? [1000, 's']
  const age = `${Math.floor(length / size)}${unit}`
  return difference < -1000 ? `in ${age}` : age
}
