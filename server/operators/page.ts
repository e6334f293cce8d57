// Pages of lists that are ordered by name.
import { toBinary } from '@bufbuild/protobuf'
import { fingerprintOf } from '../aip/page-token.ts'
import { pageSizeOf } from '../resources/list.ts'
import type { Call } from '../rpc/call.ts'
import type { Work } from '../store/work.ts'
import type { OperatorDependencies } from './dependencies.ts'

type PageRequest = Call['request'] & { pageSize: number; pageToken: string; skip: number }

/** The place of a row in the order of the list. */
export type NameKey = { name: string; uid: string }

export type PageQuery = { after: NameKey | undefined; skip: number; limit: number }

type Page<T> = { rows: T[]; nextPageToken: string; skipped: number }

/** `read` returns up to `limit` rows. */
export function* readPage<T>(
  { pageSeals }: Pick<OperatorDependencies, 'pageSeals'>,
  { request, method }: Call<PageRequest>,
  keyOf: (row: T) => NameKey,
  read: (query: PageQuery) => Work<T[]>,
): Work<Page<T>> {
  const filter = { ...request, pageSize: 0, pageToken: '', skip: 0 }
  const canonical = Buffer.from(toBinary(method.desc.input, filter)).toString('latin1')
  const query = { method: method.name, fingerprint: fingerprintOf(canonical) }
  const [name, uid] = (pageSeals.open(query, request.pageToken) ?? []) as string[] // sealed below
  const after = name === undefined || uid === undefined ? undefined : { name, uid }
  const size = pageSizeOf(request)
  const found = yield* read({ after, skip: request.skip, limit: size + 1 })
  const rows = found.slice(0, size)
  const last = found.length > size ? rows.at(-1) : undefined
  const key = last && keyOf(last)
  const nextPageToken = key ? pageSeals.seal(query, [key.name, key.uid]) : ''
  return { rows, nextPageToken, skipped: request.skip }
}
