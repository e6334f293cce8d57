// `list`: a page, or with --all one page after the other, none of which is kept.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { rowsField } from '../contract/commands.ts'
import type { Printer } from '../output/print.ts'
import type { Progress } from '../output/progress.ts'

export type Page = { rows: JsonObject[]; next: string; total: number }

const largest = 200

/** All pages of a list, from where the request starts. */
export async function* pagesOf(
  connection: Connection,
  command: Command,
  request: JsonObject,
): AsyncGenerator<Page> {
  let asked: JsonObject = { pageSize: largest, ...request }
  for (;;) {
    const page = await pageOf(connection, command, asked)
    yield page
    if (page.next === '') return
    // What is skipped was skipped by the first page.
    asked = { ...asked, pageToken: page.next, skip: 0 }
  }
}

export async function pageOf(connection: Connection, command: Command, request: JsonObject): Promise<Page> {
  const answer = await connection.call(command.method.desc, request)
  return {
    rows: (answer[rowsField(command)] ?? []) as JsonObject[],
    next: String(answer.nextPageToken ?? ''),
    total: Number(answer.totalCount ?? 0),
  }
}

export async function printAll(
  pages: AsyncIterable<Page>,
  printer: Printer,
  progress: Progress,
): Promise<number> {
  let count = 0
  for await (const { rows, total } of pages) {
    await printer.page(rows)
    count += rows.length
    progress.say(count, total)
  }
  progress.clear()
  await printer.end()
  return count
}
