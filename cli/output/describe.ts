import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { hasNestedFields } from '../contract/request-flags.ts'
import { singleLine } from '../single-line.ts'
import { valueText } from './cells.ts'
import type { Screen } from './screen.ts'
import { pad, widthOf } from './text-width.ts'

type Line = [name: string, text: string]

/** All fields of a resource that are not empty, one per line. */
export function describe(message: DescMessage, resource: JsonObject, screen: Screen): string {
  const lines = linesOf(message, resource, '', screen)
  const width = Math.max(0, ...lines.map(([name]) => widthOf(name)))
  return lines.map(([name, text]) => `${screen.dim(pad(name, width))}  ${text}\n`).join('')
}

function linesOf(message: DescMessage, object: JsonObject, prefix: string, screen: Screen): Line[] {
  return Object.entries(object).flatMap(([key, value]): Line[] => {
    const field = message.fields.find(({ jsonName }) => jsonName === key)
    // Only a newer server sends a field that is not in the contract.
    if (!field) return [[prefix + singleLine(key), singleLine(JSON.stringify(value))]]
    if (hasNestedFields(field)) return linesOf(field.message, value as JsonObject, `${prefix}${key}.`, screen)
    return fieldLines(field, prefix + key, value, screen)
  })
}

function fieldLines(field: DescField, name: string, value: JsonValue, screen: Screen): Line[] {
  if (Array.isArray(value)) {
    if (field.message)
      return value.map((element, index) => [index === 0 ? name : '', valueText(field, element)])
    return value.length === 0 ? [] : [[name, valueText(field, value)]]
  }
  if (field.fieldKind === 'map')
    return Object.entries(value as JsonObject).map(([key, entry]) => [
      `${name}.${singleLine(key)}`,
      valueText(field, entry),
    ])
  return value === '' ? [] : [[name, textWithAge(field, value, screen)]]
}

/** On a terminal, a time is followed by its age. */
function textWithAge(field: DescField, value: JsonValue, { isTerminal, now }: Screen): string {
  const text = valueText(field, value)
  const age = valueText(field, value, now)
  return isTerminal && age !== text ? `${text} (${age})` : text
}
