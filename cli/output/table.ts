import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { bytesText } from './byte-units.ts'
import { cellText } from './cells.ts'
import type { Column } from './columns.ts'
import { columnsOf } from './columns.ts'
import type { PagePrinter } from './page-printer.ts'
import type { Screen } from './screen.ts'
import { pad, truncate, widthOf } from './text-width.ts'

/** Longer cells are truncated on a terminal, so that the columns after them stay visible. */
const maxCellWidth = 48
/** Columns are padded to at most this width. Wide tables and tables outside a terminal still show longer cells in full. */
const maxColumnWidth = 2 * maxCellWidth

export function createTablePrinter(message: DescMessage, isWide: boolean, screen: Screen): PagePrinter {
  const columns = columnsOf(message, isWide)
  // The first page determines the widths, so that its rows can be printed before the next page arrives.
  let widths: number[] | undefined
  return {
    async printPage(rows) {
      const lines = rows.map((row) => cellsOf(message, row, columns, isWide, screen))
      if (lines.length === 0) return
      if (!widths) {
        const titles = columns.map(({ title }) => title)
        widths = columnWidths([titles, ...lines])
        await screen.write(`${screen.dim(alignLine(titles, widths))}\n`)
      }
      const fixedWidths = widths
      await screen.write(lines.map((cells) => `${alignLine(cells, fixedWidths)}\n`).join(''))
    },
    async end() {},
  }
}

function cellsOf(
  message: DescMessage,
  row: JsonObject,
  columns: Column[],
  isWide: boolean,
  screen: Screen,
): string[] {
  const now = screen.isTerminal ? screen.now : undefined
  return columns.map(({ title, paths, isBytes }) => {
    const value = cellText(message, row, paths, now)
    const text = isBytes && value !== '' ? bytesText(Number(value)) : value
    return screen.isTerminal && !isWide && title !== 'UID' ? truncate(text, maxCellWidth) : text
  })
}

function columnWidths(lines: string[][]): number[] {
  const [titles = []] = lines
  return titles.map((_, index) =>
    Math.min(Math.max(...lines.map((cells) => widthOf(cells[index] ?? ''))), maxColumnWidth),
  )
}

const alignLine = (cells: string[], widths: number[]): string =>
  cells
    .map((cell, index) => (index === cells.length - 1 ? cell : pad(cell || '-', widths[index] ?? 0)))
    .join('  ')
    .trimEnd()
