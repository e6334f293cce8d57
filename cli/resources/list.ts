import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { printedMessageOf, rowsField } from '../contract/commands.ts'
import { spaced } from '../contract/spelling.ts'
import { parseFormat } from '../output/format.ts'
import type { PagePrinter } from '../output/page-printer.ts'
import { createPrinter } from '../output/printer.ts'
import type { Progress } from '../output/progress.ts'
import { report } from '../runtime.ts'
import type { Invocation } from './invocation.ts'
import { progressIfRedirected } from './invocation.ts'
import { readRequest } from './read-request.ts'

export type Page = { rows: JsonObject[]; nextPageToken: string; totalCount: number }

const maxPageSize = 200

/** Prints one page, or with --all every page. No page is kept in memory. */
export async function runList(invocation: Invocation): Promise<void> {
  const { command, line, connection, screen, runtime } = invocation
  const request = await readRequest(invocation, line.positionals[0])
  const printer = createPrinter(parseFormat(line.options.output), printedMessageOf(command), screen)
  const reportEmpty = () => report(runtime, `No ${spaced(command.resource)}.`)
  if (line.options.all) {
    const pages = listPages(connection, command, request)
    const count = await printPages(pages, printer, progressIfRedirected(invocation))
    if (count === 0) reportEmpty()
    return
  }
  const { rows, nextPageToken, totalCount } = await listPage(connection, command, request)
  await printer.printPage(rows)
  await printer.end()
  if (rows.length === 0) reportEmpty()
  if (nextPageToken !== '')
    report(
      runtime,
      `${rows.length} of ${totalCount}; --all lists all, --page-token ${nextPageToken} lists the next page`,
    )
}

/** All pages of a list, starting with the page that the request asks for. */
export async function* listPages(
  connection: Connection,
  command: Command,
  request: JsonObject,
): AsyncGenerator<Page> {
  let pageRequest: JsonObject = { pageSize: maxPageSize, ...request }
  for (;;) {
    const page = await listPage(connection, command, pageRequest)
    yield page
    if (page.nextPageToken === '') return
    // `skip` applies to the first page only. Not all lists have it.
    const { skip: _, ...rest } = pageRequest
    pageRequest = { ...rest, pageToken: page.nextPageToken }
  }
}

async function listPage(connection: Connection, command: Command, request: JsonObject): Promise<Page> {
  const response = await connection.call(command.method.desc, request)
  return {
    rows: (response[rowsField(command)] ?? []) as JsonObject[],
    nextPageToken: String(response.nextPageToken ?? ''),
    totalCount: Number(response.totalCount ?? 0),
  }
}

async function printPages(
  pages: AsyncIterable<Page>,
  printer: PagePrinter,
  progress: Progress,
): Promise<number> {
  let count = 0
  try {
    for await (const { rows, totalCount } of pages) {
      await printer.printPage(rows)
      count += rows.length
      progress.update(count, totalCount)
    }
  } finally {
    progress.clear()
  }
  await printer.end()
  return count
}
