// Documents: the advisories of a package and of the packages that are built from it. They contain
// only advisories that the caller may list.
import { create } from '@bufbuild/protobuf'
import type {
  DocumentAdvisory,
  ListDocumentsRequest,
} from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { ListDocumentsResponseSchema } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { ListAdvisoriesRequestSchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { invalidField, StatusError, TooExpensive, tooLarge } from '../../../../aip/errors.ts'
import type { Call } from '../../../../rpc/call.ts'
import type { UnsentBudget } from '../../../../rpc/unsent-budget.ts'
import { among, sql } from '../../../../store/sql.ts'
import type { Work } from '../../../../store/work.ts'
import { all } from '../../../../store/work.ts'
import type { Reply } from '../../../../wire/reply.ts'
import { messageReply } from '../../../../wire/reply.ts'
import type { Dependencies } from '../../../dependencies.ts'
import { messageOf } from '../../../kind.ts'
import type { ListOptions } from '../../../list.ts'
import { streamResources } from '../../../stream.ts'
import { searchListing } from '../search-listing.ts'
import { advisories } from '../table.ts'
import { documentAdvisoryOf } from './document-advisory.ts'

/** The maximum size of the stored advisories of one response, in bytes. The response is smaller. */
const maxBytes = 16 * 1024 * 1024
/** Reading and converting an advisory takes about as long as scanning this many rows. */
const rowsPerAdvisory = 5

export type DocumentDependencies = Pick<Dependencies, 'store' | 'maxListRows'> & { unsent: UnsentBudget }

type PackageAdvisory = { packageName: string; advisory: DocumentAdvisory }

/** Advisories that were read together. */
type Batch = { size: number; advisories: PackageAdvisory[] }

export async function listDocuments(
  deps: DocumentDependencies,
  call: Call<ListDocumentsRequest>,
): Promise<Reply> {
  const { id } = call.request
  const client = { identity: call.demand.caller.identity, address: call.address }
  const found: PackageAdvisory[] = []
  const releases: (() => void)[] = []
  try {
    for await (const { size, advisories: batch } of readBatches(deps, call)) {
      // The advisories are in memory until all are read, so they count as an unsent response of the caller.
      releases.push(deps.unsent.reserve(client, size))
      // The filter of the list also matches an artifact of this name that is built from another package.
      found.push(...batch.filter(({ packageName }) => id === '' || id === packageName))
    }
    return documentsReply(found)
  } finally {
    for (const release of releases) release()
  }
}

async function* readBatches(
  deps: DocumentDependencies,
  call: Call<ListDocumentsRequest>,
): AsyncGenerator<Batch, void, void> {
  const { id, cves } = call.request
  const listCall: Call<ListAdvisoriesRequest> = {
    ...call,
    request: create(ListAdvisoriesRequestSchema, { aliases: cves, ...(id !== '' && { origin: id }) }),
  }
  const options = reportAliasesAsCves(searchListing(listCall))
  let [count, bytes] = [0, 0]
  for await (const batch of streamResources(deps, advisories, listCall, options, toBatch)) {
    count += batch.advisories.length
    bytes += batch.size
    if (bytes > maxBytes) throw tooLong()
    if (deps.maxListRows !== undefined && count * rowsPerAdvisory > deps.maxListRows) throw new TooExpensive()
    yield batch
  }
}

/** One batch of all rows. */
function* toBatch(rows: readonly Uint8Array[]): Work<Batch[]> {
  const list = rows.map((bytes) => messageOf(advisories, bytes))
  if (list.length === 0) return []
  const uids = among(list.map(({ uid }) => uid))
  const origins = new Map(
    (yield* all(sql`select uid, origin from advisories where uid in ${uids}`)) as [string, string][],
  )
  return [
    {
      size: rows.reduce((sum, { length }) => sum + length, 0),
      advisories: list.map((advisory) => ({
        packageName: origins.get(advisory.uid) || advisory.artifactName,
        advisory: documentAdvisoryOf(advisory),
      })),
    },
  ]
}

function documentsReply(found: readonly PackageAdvisory[]): Reply {
  const packages = Map.groupBy(found, ({ packageName }) => packageName)
  const documents = Array.from(packages, ([id, list]) => ({
    id,
    advisories: list.map(({ advisory }) => advisory).sort(byId),
  })).sort(byId)
  return messageReply(ListDocumentsResponseSchema, create(ListDocumentsResponseSchema, { documents }))
}

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)

const tooLong = () =>
  tooLarge(
    'the documents are too large for one response; name a package in id, or vulnerabilities in cves',
    429,
  )

/**
 * Changes errors about the filter `aliases` of the list to errors about `cves`, its name in this
 * request.
 */
function reportAliasesAsCves({ search, ...options }: ListOptions): ListOptions {
  if (!search) return options
  return {
    ...options,
    *search(organizations, maxRows) {
      try {
        return yield* search(organizations, maxRows)
      } catch (error) {
        const violation = error instanceof StatusError ? error.violations[0] : undefined
        throw violation?.field === 'aliases' ? invalidField('cves', violation.description) : error
      }
    },
  }
}
