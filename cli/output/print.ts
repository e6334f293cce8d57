// Rows on their way out, in the form that was asked for. Nothing is kept longer than the page it came with.
import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { rulesOf } from '@stemma/api/method.ts'
import { stringify } from 'yaml'
import { oneLine } from '../one-line.ts'
import { UsageError } from '../usage.ts'
import { cellOf } from './cells.ts'
import { columnsOf } from './columns.ts'
import { describe } from './describe.ts'
import type { Screen } from './screen.ts'
import { cut, pad, widthOf } from './width.ts'

export const formats = ['table', 'wide', 'json', 'yaml', 'uid'] as const
export type Format = (typeof formats)[number]

export function formatOf(text: string | undefined, unless: Format = 'table'): Format {
  const format = formats.find((one) => one === (text ?? unless))
  if (!format)
    throw new UsageError(
      `--output must be ${formats.slice(0, -1).join(', ')} or ${formats.at(-1)}, not ${JSON.stringify(text)}`,
    )
  return format
}

export type Printer = {
  page(rows: JsonObject[]): Promise<void>
  end(): Promise<void>
}

export function openPrinter(format: Format, message: DescMessage, screen: Screen): Printer {
  if (format === 'json') return jsonPrinter(screen)
  if (format === 'yaml') return linePrinter(screen, (row) => yamlOf([row]))
  if (format === 'uid') return linePrinter(screen, uidLine)
  return tablePrinter(message, format === 'wide', screen)
}

export async function printOne(
  format: Format,
  message: DescMessage,
  row: JsonObject,
  screen: Screen,
): Promise<void> {
  if (format === 'json') return screen.write(`${jsonOf(row)}\n`)
  if (format === 'yaml') return screen.write(yamlOf(row))
  if (format === 'uid') return screen.write(uidLine(row))
  const text = soleText(message)
  if (text !== undefined) return screen.write(`${readable(String(row[text] ?? ''), screen)}\n`)
  return screen.write(describe(message, row, screen))
}

/** A resource that is nothing but a text, such as a readme, is printed as that. */
function soleText({ fields }: DescMessage): string | undefined {
  const [only, ...others] = fields.filter(({ name }) => name !== 'uid')
  return only && others.length === 0 && rulesOf(only).text ? only.jsonName : undefined
}

const readable = (text: string, { isTerminal }: Screen): string =>
  isTerminal ? text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '�') : text

/** Some terminals obey codes that JSON does not ask to be escaped. */
export const jsonOf = (value: JsonObject, indent = 2): string =>
  JSON.stringify(value, undefined, indent).replace(
    /[\x7f-\x9f]/g,
    (code) => `\\u00${code.charCodeAt(0).toString(16)}`,
  )

export const yamlOf = (value: unknown): string =>
  stringify(value, { lineWidth: 0 }).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '�')

const uidLine = ({ uid = '' }: JsonObject): string => `${oneLine(String(uid))}\n`

function linePrinter(screen: Screen, line: (row: JsonObject) => string): Printer {
  return {
    page: (rows) => screen.write(rows.map(line).join('')),
    async end() {},
  }
}

/** One array, however many pages it takes. */
function jsonPrinter(screen: Screen): Printer {
  let isFirst = true
  return {
    async page(rows) {
      for (const row of rows) {
        await screen.write(`${isFirst ? '[' : ','}\n  ${jsonOf(row).replaceAll('\n', '\n  ')}`)
        isFirst = false
      }
    },
    end: () => screen.write(isFirst ? '[]\n' : '\n]\n'),
  }
}

/** Nobody's description pushes the rest out of sight. */
const widest = 48

function tablePrinter(message: DescMessage, isWide: boolean, screen: Screen): Printer {
  const columns = columnsOf(message, isWide)
  const reading = { now: screen.isTerminal ? screen.now : undefined }
  // The first page decides, so that the first row need not wait for the last.
  let widths: number[] | undefined

  function cellsOf(row: JsonObject): string[] {
    return columns.map(({ title, paths }) => {
      const text = cellOf(message, row, paths, reading)
      return screen.isTerminal && !isWide && title !== 'UID' ? cut(text, widest) : text
    })
  }

  const lineOf = (cells: string[], sizes: number[]) =>
    cells
      .map((cell, at) => (at === cells.length - 1 ? cell : pad(cell || '-', sizes[at] ?? 0)))
      .join('  ')
      .trimEnd()

  return {
    async page(rows) {
      const lines = rows.map(cellsOf)
      if (lines.length === 0) return
      if (!widths) {
        const titles = columns.map(({ title }) => title)
        widths = titles.map((title, at) =>
          Math.min(Math.max(...[title, ...lines.map((cells) => cells[at] ?? '')].map(widthOf)), widest * 2),
        )
        await screen.write(`${screen.dim(lineOf(titles, widths))}\n`)
      }
      const sizes = widths
      await screen.write(lines.map((cells) => `${lineOf(cells, sizes)}\n`).join(''))
    },
    async end() {},
  }
}
