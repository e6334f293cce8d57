// Streams every resource that a list contains, page by page as the client reads.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DescMessage } from '@bufbuild/protobuf'
import type { FieldViolation } from '../aip/errors.ts'
import { invalidArgument } from '../aip/errors.ts'
import { parseOrderBy } from '../aip/order-by.ts'
import { admitToRead } from '../policy/admit.ts'
import type { Call } from '../rpc/call.ts'
import { readUncountedPage } from '../store/list/read-page.ts'
import type { Value } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import type { Dependencies } from './dependencies.ts'
import type { Kind } from './kind.ts'
import type { ListOptions, ListRequest, SearchResult } from './list.ts'
import { selectionOf } from './list.ts'

/** In resources. A page is in memory until the client has read it, and larger pages are hardly faster to read. */
const pageSize = 100

/**
 * Reads each page in a transaction of its own, so that no transaction waits for a client. Grants are read again for
 * each page: a caller who loses access gets no further pages.
 */
export async function* streamResources<T>(
  { store, maxListRows }: Pick<Dependencies, 'store' | 'maxListRows'>,
  kind: Kind<DescMessage>,
  call: Call<ListRequest>,
  options: ListOptions,
  convert: (rows: Uint8Array[]) => Work<T[]>,
): AsyncGenerator<T, void, void> {
  let after: Value[] | undefined
  const pageOptions = withOneSearch(options)
  do {
    const page = await store.read(function* () {
      const grants = yield* admitToRead(call.demand)
      requireNoPaging(call.request)
      const order = parseOrderBy(call.request.orderBy, kind.sortable, kind.defaultOrder)
      const { regions, filters } = yield* selectionOf(call, grants, pageOptions, maxListRows)
      const { rows, next } = yield* readUncountedPage(kind.table, {
        ...{ regions, filters, order, after, skip: 0, size: pageSize },
        form: kind.forms.bytes,
        ...(kind.table.expires && { liveAt: grants.time }),
        // If the first page would read too many rows, the lane reads the whole stream. Later pages are not limited.
        ...(maxListRows !== undefined && after === undefined && { maxRows: maxListRows }),
      })
      return { items: yield* convert(rows as Uint8Array[]), next } // the form is bytes
    })
    yield* page.items
    after = page.next
    // The embedded store answers synchronously; this lets other calls run.
    await nextTurn()
  } while (after)
}

/**
 * Searches once for all pages, since a search may take longer than reading a page. Each page still applies grants and
 * filters.
 */
function withOneSearch({ search, ...options }: ListOptions): ListOptions {
  if (!search) return options
  let result: SearchResult | undefined
  return {
    ...options,
    *search(organizations, maxRows) {
      result ??= yield* search(organizations, maxRows)
      return result
    },
  }
}

function requireNoPaging({ pageSize: size, pageToken, skip }: ListRequest): void {
  const fields = [
    ...(size === 0 ? [] : ['page_size']),
    ...(pageToken === '' ? [] : ['page_token']),
    ...(skip === 0 ? [] : ['skip']),
  ]
  const description = 'must not be set: this response has no pages'
  const [first, ...others] = fields.map((field): FieldViolation => ({ field, description }))
  if (first) throw invalidArgument(first, ...others)
}
