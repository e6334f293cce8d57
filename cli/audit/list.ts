// `stemma audit list`.
import type { JsonObject } from '@bufbuild/protobuf'
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { commandOf, printedMessageOf } from '../contract/commands.ts'
import { UsageError } from '../failure.ts'
import type { PagePrinter } from '../output/page-printer.ts'
import { createPrinter } from '../output/printer.ts'
import { listPages } from '../resources/list.ts'
import { report } from '../runtime.ts'
import type { AuditEntry } from './entry-lines.ts'
import { entryLines } from './entry-lines.ts'
import { readFilters } from './filters.ts'

const defaultCount = 50

export async function runList(invocation: ComposedInvocation): Promise<void> {
  const { flags, connection, runtime } = invocation
  const limit = flags.all ? Number.POSITIVE_INFINITY : parseCount(flags.count as string | undefined)
  const request = { ...(await readFilters(invocation)), ...(flags.oldest && { orderBy: 'time' }) }
  const printer = openPrinter(invocation)
  let count = 0
  let total = 0
  const pageSize = Math.min(limit, 200)
  for await (const page of listPages(connection, commandOf('audit', 'list'), { ...request, pageSize })) {
    const rows = page.rows.slice(0, limit - count)
    await printer.printPage(rows)
    count += rows.length
    total = page.totalCount
    if (count >= limit) break
  }
  await printer.end()
  if (count === 0) report(runtime, 'No entries.')
  else if (count < total)
    report(runtime, `${count} of ${total}; --all lists all, --count NUMBER lists up to NUMBER`)
}

export function openPrinter(
  { format, screen }: ComposedInvocation,
  showsAges = screen.isTerminal && format !== 'wide',
): PagePrinter {
  if (format !== 'table' && format !== 'wide')
    return createPrinter(format, printedMessageOf(commandOf('audit', 'list')), screen)
  // According to the contract, the rows are entries.
  const entryOf = (row: JsonObject) => row as unknown as AuditEntry
  const lines = (row: JsonObject) => entryLines(entryOf(row), format === 'wide', showsAges, screen)
  return {
    printPage: (rows) => screen.write(rows.map(lines).join('')),
    async end() {},
  }
}

function parseCount(text: string | undefined): number {
  if (text === undefined) return defaultCount
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new UsageError(`--count must be a whole number from 1 to 9999999, not ${JSON.stringify(text)}`)
}
