// One resource with all that it holds, a line for each field.
import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { isWalked } from '../contract/flags.ts'
import { wordsOf } from './cells.ts'
import type { Screen } from './screen.ts'
import { pad, widthOf } from './width.ts'

export function describe(message: DescMessage, row: JsonObject, screen: Screen): string {
  const lines = linesOf(message, row, '', screen)
  const width = Math.max(0, ...lines.map(([name]) => widthOf(name)))
  return lines.map(([name, text]) => `${screen.dim(pad(name, width))}  ${text}\n`).join('')
}

function linesOf(message: DescMessage, row: JsonObject, prefix: string, screen: Screen): [string, string][] {
  return Object.entries(row).flatMap(([key, value]): [string, string][] => {
    const field = message.fields.find(({ jsonName }) => jsonName === key)
    const name = prefix + key
    if (!field) return [[name, JSON.stringify(value)]]
    if (isWalked(field)) return linesOf(field.message, value as JsonObject, `${name}.`, screen)
    if (field.fieldKind === 'list' && field.message && Array.isArray(value))
      return value.map((one, at) => [at === 0 ? name : '', wordsOf(field, one, {})])
    if (Array.isArray(value)) return value.length === 0 ? [] : [[name, wordsOf(field, value, {})]]
    if (field.fieldKind === 'map')
      return Object.entries(value as JsonObject).map(([inner, one]) => [
        `${name}.${inner}`,
        wordsOf(field, one, {}),
      ])
    return value === ''
      ? []
      : [[name, timed(wordsOf(field, value, {}), wordsOf(field, value, { now: screen.now }), screen)]]
  })
}

/** A time stands as it is, with its age beside it for people. */
const timed = (text: string, aged: string, { isTerminal }: Screen): string =>
  isTerminal && aged !== text ? `${text} (${aged})` : text
