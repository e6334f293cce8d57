// Prints rows in the requested format, page by page. No page is kept in memory.
import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { rulesOf } from '@stemma/api/method.ts'
import { singleLine } from '../single-line.ts'
import { describe } from './describe.ts'
import type { Format } from './format.ts'
import type { PagePrinter } from './page-printer.ts'
import type { Screen } from './screen.ts'
import { replaceControls, toJson, toYaml } from './serialize.ts'
import { createTablePrinter } from './table.ts'

export function createPrinter(format: Format, message: DescMessage, screen: Screen): PagePrinter {
  if (format === 'json') return createJsonPrinter(screen)
  if (format === 'yaml') return createLinePrinter(screen, (row) => toYaml([row]))
  if (format === 'uid') return createLinePrinter(screen, uidLine)
  return createTablePrinter(message, format === 'wide', screen)
}

/** Prints a single resource, with all of its fields. */
export async function printResource(
  format: Format,
  message: DescMessage,
  resource: JsonObject,
  screen: Screen,
): Promise<void> {
  if (format === 'json') return screen.write(`${toJson(resource)}\n`)
  if (format === 'yaml') return screen.write(await toYaml(resource))
  if (format === 'uid') return screen.write(uidLine(resource))
  const textField = soleTextField(message)
  if (textField === undefined) return screen.write(describe(message, resource, screen))
  const text = String(resource[textField] ?? '')
  return screen.write(`${screen.isTerminal ? replaceControls(text) : text}\n`)
}

/**
 * The field with the text of a resource that consists of a uid and free text, such as a readme. The text is printed
 * without the name of the field.
 */
function soleTextField({ fields }: DescMessage): string | undefined {
  const [field, ...others] = fields.filter(({ name }) => name !== 'uid')
  return field && others.length === 0 && rulesOf(field).text ? field.jsonName : undefined
}

const uidLine = ({ uid = '' }: JsonObject): string => `${singleLine(String(uid))}\n`

function createLinePrinter(screen: Screen, line: (row: JsonObject) => string | Promise<string>): PagePrinter {
  return {
    printPage: async (rows) => screen.write((await Promise.all(rows.map(line))).join('')),
    async end() {},
  }
}

/** Prints one array for all pages. */
function createJsonPrinter(screen: Screen): PagePrinter {
  let isFirst = true
  return {
    async printPage(rows) {
      for (const row of rows) {
        await screen.write(`${isFirst ? '[' : ','}\n  ${toJson(row).replaceAll('\n', '\n  ')}`)
        isFirst = false
      }
    },
    end: () => screen.write(isFirst ? '[]\n' : '\n]\n'),
  }
}
