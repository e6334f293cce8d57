// Finds the advisories of vulnerabilities that a caller may list.
import { create } from '@bufbuild/protobuf'
import { ListAdvisoriesRequestSchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Grants } from '../../../../policy/grants.ts'
import type { Call } from '../../../../rpc/call.ts'
import { readUncountedPage } from '../../../../store/list/read-page.ts'
import { findAny } from '../../../../store/postings/find.ts'
import { termHashes } from '../../../../store/postings/term-hash.ts'
import { among, sql } from '../../../../store/sql.ts'
import type { Work } from '../../../../store/work.ts'
import { all } from '../../../../store/work.ts'
import { messageOf } from '../../../kind.ts'
import { selectionOf } from '../../../list.ts'
import { searchListing } from '../search-listing.ts'
import { advisories } from '../table.ts'
import { advisoryIndex, termOf, valuesIn } from '../terms.ts'

/** A vulnerability may have advisories of thousands of packages. Only this many are considered. */
const consideredAdvisories = 20
/** If more advisories have one of the ids, the ids are looked up one by one. */
const maxTogether = 2000
/** The maximum number of document numbers in the `in (…)` of one statement. */
const numbersPerStatement = 512

/** `maxRows` is how many rows may be read in this thread; undefined for no limit. */
export type Scope = { call: Call; grants: Grants; maxRows: number | undefined }

/** `uids` are the first advisories with this alias that the caller may list. */
export type Vulnerability = { id: string; uids: string[] }

/** The vulnerabilities of which the caller may list an advisory, in the order of `ids`. */
export function* findVulnerabilities(scope: Scope, ids: readonly string[]): Work<Vulnerability[]> {
  const found = (yield* findTogether(scope, ids)) ?? (yield* findOneByOne(scope, ids))
  return ids.flatMap((id) => {
    const uids = found.get(id) ?? []
    return uids.length === 0 ? [] : [{ id, uids }]
  })
}

type UidsById = Map<string, string[]>

/** Undefined if too many advisories have one of the ids. */
function* findTogether({ call, grants, maxRows }: Scope, ids: readonly string[]): Work<UidsById | undefined> {
  let rows: [uid: string, terms: string][] | undefined
  const { regions } = yield* selectionOf(
    withoutFilters(call),
    grants,
    {
      *search(organizations) {
        rows = yield* rowsWithAlias(organizations, ids, maxRows)
        return { filters: [], uids: rows?.map(([uid]) => uid) ?? [] }
      },
    },
    maxRows,
  )
  if (!rows) return undefined
  const termsByUid = new Map(rows)
  const found: UidsById = new Map(ids.map((id) => [id, []]))
  // All regions are single advisories, because the search has returned uids.
  for (const { uid } of regions) {
    for (const alias of valuesIn(termsByUid.get(uid) ?? '', 'alias')) {
      const uids = found.get(alias)
      if (uids && uids.length < consideredAdvisories) uids.push(uid)
    }
  }
  return found
}

function* rowsWithAlias(
  organizations: readonly string[],
  ids: readonly string[],
  maxPostings: number | undefined,
): Work<[uid: string, terms: string][] | undefined> {
  const terms = ids.map((id) => termOf('alias', id))
  const hashes = organizations.flatMap((root) => [...termHashes(root, terms, [])])
  const numbers = yield* findAny(advisoryIndex, hashes, { maxPostings })
  if (!numbers || numbers.size > maxTogether) return undefined
  const rows: [string, string][] = []
  const list = [...numbers]
  for (let at = 0; at < list.length; at += numbersPerStatement) {
    const chunk = among(list.slice(at, at + numbersPerStatement))
    rows.push(
      ...((yield* all(sql`select uid, terms from advisories where number in ${chunk}`)) as typeof rows),
    )
  }
  return rows
}

function* findOneByOne({ call, grants, maxRows }: Scope, ids: readonly string[]): Work<UidsById> {
  const found: UidsById = new Map()
  const rowsPerId = maxRows === undefined ? undefined : Math.ceil(maxRows / ids.length)
  for (const id of ids) {
    const listCall = withoutFilters(call)
    listCall.request.aliases = [id]
    const { regions, filters } = yield* selectionOf(listCall, grants, searchListing(listCall), rowsPerId)
    const { rows } = yield* readUncountedPage(advisories.table, {
      ...{ regions, filters, order: advisories.defaultOrder, after: undefined, skip: 0 },
      ...{ size: consideredAdvisories, form: advisories.forms.bytes },
      ...(rowsPerId !== undefined && { maxRows: rowsPerId }),
    })
    const uids = (rows as Uint8Array[]).map((bytes) => messageOf(advisories, bytes).uid) // the form is bytes
    found.set(id, uids)
  }
  return found
}

const withoutFilters = (call: Call) => ({ ...call, request: create(ListAdvisoriesRequestSchema) })
