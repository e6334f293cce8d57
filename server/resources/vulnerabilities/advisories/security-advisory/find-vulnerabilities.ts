// Finds the advisories of vulnerabilities that a caller may list.
import { create } from '@bufbuild/protobuf'
import { ListAdvisoriesRequestSchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Grants } from '../../../../policy/grants.ts'
import type { Call } from '../../../../rpc/call.ts'
import { readUncountedPage } from '../../../../store/list/read-page.ts'
import { chunks } from '../../../../store/list/scan-region.ts'
import { findAny } from '../../../../store/postings/find.ts'
import { termHashes } from '../../../../store/postings/term-hash.ts'
import { among, raw, sql } from '../../../../store/sql.ts'
import type { Work } from '../../../../store/work.ts'
import { all } from '../../../../store/work.ts'
import { messageOf } from '../../../kind.ts'
import type { ListOptions } from '../../../list.ts'
import { selectionOf } from '../../../list.ts'
import { searchListing } from '../search-listing.ts'
import { advisories } from '../table.ts'
import { advisoryIndex, termOf, valuesIn } from '../terms.ts'

/** If more advisories than this have one of the ids, the ids are looked up one by one. */
const maxTogether = 2000
/** The maximum number of document numbers in the `in (…)` of one statement. */
const numbersPerStatement = 128
/** All aliases of an advisory are in this many characters at the start of its column `terms` (terms.ts). */
const aliasCharacters = 56_000

export type Scope = {
  call: Call
  grants: Grants
  /** How many rows may be read in this thread; undefined for no limit. */
  maxRows: number | undefined
  /** How many advisories of each vulnerability are wanted: there may be thousands. */
  advisoriesPerId: number
}

/** `uids` are the first advisories with the alias `id` that the caller may list. */
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
function* findTogether(scope: Scope, ids: readonly string[]): Work<UidsById | undefined> {
  const { call, grants, maxRows, advisoriesPerId } = scope
  let idsByUid: Map<string, string[]> | undefined
  const options: ListOptions = {
    *search(organizations) {
      idsByUid = yield* advisoriesWith(ids, organizations, maxRows)
      return { filters: [], uids: [...(idsByUid?.keys() ?? [])] }
    },
  }
  const { regions } = yield* selectionOf(withoutFilters(call), grants, options, maxRows)
  if (!idsByUid) return undefined
  const found: UidsById = new Map(ids.map((id) => [id, []]))
  // All regions are single advisories, because the search has returned uids.
  for (const { uid } of regions) {
    for (const id of idsByUid.get(uid) ?? []) {
      const uids = found.get(id)
      if (uids && uids.length < advisoriesPerId) uids.push(uid)
    }
  }
  return found
}

/**
 * Finds the advisories in these organizations that have at least one of the ids. Maps the uid of
 * each advisory to the ids that it has.
 */
function* advisoriesWith(
  ids: readonly string[],
  organizations: readonly string[],
  maxPostings: number | undefined,
): Work<Map<string, string[]> | undefined> {
  const terms = ids.map((id) => termOf('alias', id))
  const hashes = organizations.flatMap((root) => [...termHashes(root, terms, [])])
  const numbers = yield* findAny(advisoryIndex, hashes, { maxPostings })
  if (!numbers || numbers.size > maxTogether) return undefined
  const wanted = new Set(ids)
  const idsByUid = new Map<string, string[]>()
  for (const chunk of chunks([...numbers], numbersPerStatement)) {
    const rows = yield* all(sql`select uid, substr(terms, 1, ${raw(String(aliasCharacters))}) from advisories
      where number in ${among(chunk)}`)
    for (const [uid, column] of rows as [string, string][])
      idsByUid.set(
        uid,
        valuesIn(column, 'alias').filter((alias) => wanted.has(alias)),
      )
  }
  return idsByUid
}

function* findOneByOne(scope: Scope, ids: readonly string[]): Work<UidsById> {
  const { call, grants, maxRows, advisoriesPerId: size } = scope
  const found: UidsById = new Map()
  const rowsPerId = maxRows === undefined ? undefined : Math.ceil(maxRows / ids.length)
  for (const id of ids) {
    const listCall = withoutFilters(call)
    listCall.request.aliases = [id]
    const { regions, filters } = yield* selectionOf(listCall, grants, searchListing(listCall), rowsPerId)
    const { rows } = yield* readUncountedPage(advisories.table, {
      ...{ regions, filters, order: advisories.defaultOrder, after: undefined, skip: 0, size },
      form: advisories.forms.bytes,
      ...(rowsPerId !== undefined && { maxRows: rowsPerId }),
    })
    const uids = (rows as Uint8Array[]).map((bytes) => messageOf(advisories, bytes).uid) // the form is bytes
    found.set(id, uids)
  }
  return found
}

const withoutFilters = (call: Call) => ({ ...call, request: create(ListAdvisoriesRequestSchema) })
