// All that a list would show, page by page for as long as somebody asks for more.
import { setImmediate as turn } from 'node:timers/promises'
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
import type { Found, Listing, ListRequest } from './list.ts'
import { select } from './list.ts'

/** As few as make reading them cheap: they are in memory until the client has taken them. */
const pageSize = 100

/**
 * Each page is a read of its own, so no transaction waits for a client, and what the caller may see is looked up
 * again for each: access that ends in between ends the walk there.
 */
export async function* streamResources<T>(
  { store }: Pick<Dependencies, 'store'>,
  kind: Kind<DescMessage>,
  call: Call<ListRequest>,
  listing: Listing,
  make: (rows: Uint8Array[]) => Work<T[]>,
): AsyncGenerator<T, void, void> {
  let after: Value[] | undefined
  const once = searchingOnce(listing)
  do {
    const page = await store.read(function* () {
      const grants = yield* admitToRead(call.demand)
      requireNoPages(call.request)
      const order = parseOrderBy(call.request.orderBy, kind.sortable, kind.defaultOrder)
      const { regions, filters } = yield* select(call, grants, once)
      const { rows, next } = yield* readUncountedPage(kind.table, {
        ...{ regions, filters, order, after, skip: 0, size: pageSize },
        form: { kind: 'bytes' },
      })
      return { made: yield* make(rows as Uint8Array[]), next } // in the form that was asked for
    })
    yield* page.made
    after = page.next
    // The embedded store answers without a pause, and others are waiting.
    await turn()
  } while (after)
}

/** A search may cost more than a page. What it found is still held against what may be seen, and its filters hold. */
function searchingOnce({ find, ...listing }: Listing): Listing {
  if (!find) return listing
  let found: Found | undefined
  return {
    ...listing,
    *find(roots) {
      found ??= yield* find(roots)
      return found
    },
  }
}

function requireNoPages({ pageSize: size, pageToken, skip }: ListRequest): void {
  const given = { page_size: size !== 0, page_token: pageToken !== '', skip: skip !== 0 }
  const violations = Object.entries(given)
    .filter(([, isGiven]) => isGiven)
    .map(([field]): FieldViolation => ({ field, description: 'must not be given: this answer has no pages' }))
  const [first, ...others] = violations
  if (first) throw invalidArgument(first, ...others)
}
