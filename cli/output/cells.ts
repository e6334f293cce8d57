// One value as people read it.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { shortName } from '../contract/enums.ts'
import { oneLine } from '../one-line.ts'

export type Reading = {
  /** Since when ages are counted; without it times are shown as they are. */
  now?: number | undefined
}

export function cellOf(message: DescMessage, row: JsonObject, paths: string[], reading: Reading): string {
  for (const path of paths) {
    const text = cellAt(message, row, path.split('.'), reading)
    if (text !== '') return text
  }
  return ''
}

function cellAt(message: DescMessage, row: JsonObject, [first, ...rest]: string[], reading: Reading): string {
  const field = message.fields.find(({ jsonName }) => jsonName === first)
  const value = field && row[field.jsonName]
  if (!field || value === undefined || value === null) return ''
  if (rest.length > 0 && field.message) return cellAt(field.message, value as JsonObject, rest, reading)
  return wordsOf(field, value, reading)
}

export function wordsOf(field: DescField, value: JsonValue, reading: Reading): string {
  if (Array.isArray(value)) return value.map((one) => single(field, one, reading)).join(',')
  return single(field, value, reading)
}

function single(field: DescField, value: JsonValue, { now }: Reading): string {
  if (field.enum && typeof value === 'string') return shortName(field.enum, value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (now !== undefined && field.message?.typeName === 'google.protobuf.Timestamp')
    return ageOf(String(value), now)
  return oneLine(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

const units: [number, string][] = [
  [86_400_000 * 365, 'y'],
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
]

/** `5m`, `3d`; what has yet to come is `in 3d`. */
export function ageOf(time: string, now: number): string {
  const distance = now - Date.parse(time)
  const length = Math.abs(distance)
  const [size, unit] = units.find(([least]) => length >= least) ?? [1000, 's']
  const age = `${Math.floor(length / size)}${unit}`
  return distance < -1000 ? `in ${age}` : age
}
