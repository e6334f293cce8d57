import type { JsonObject } from '@bufbuild/protobuf'

/** Prints rows as they arrive, page by page. */
export type PagePrinter = {
  printPage(rows: JsonObject[]): Promise<void>
  end(): Promise<void>
}
