// Converts an imported record to the rows that are stored for it, without access to the store. Uids
// and ids, and times if the record has any, are derived from the record and its source, so an import
// that is interrupted and repeated leaves the same rows.
import { hash } from 'node:crypto'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { rootOf } from '../../../aip/uid.ts'
import { hashOf } from '../../../store/postings/term-hash.ts'
import type { Entry } from '../../../store/table.ts'
import { entryOf, messageOf } from '../../kind.ts'
import { newAdvisoryId } from '../advisory-id.ts'
import { searchColumnsOf } from './search-columns.ts'
import { seededBytes } from './seeded-bytes.ts'
import { advisories } from './table.ts'
import { requireSize, requireValid } from './validate-advisory.ts'

/** An advisory that was read from a record of another database. */
export type ImportItem = {
  /** Identifies the record and the package in it; the same in every import. */
  source: string
  format: string
  record: string
  draft: Advisory
  /** The source package of the affected package, or '' if the record does not name it. */
  origin: string
  createTime: number
  updateTime: number
  withdrawTime: number | undefined
}

/** The rows of one advisory. Contains only plain values, because it is passed between threads. */
export type ImportRows = Pick<
  ImportItem,
  'source' | 'format' | 'record' | 'origin' | 'updateTime' | 'withdrawTime'
> & {
  /** The hash of the organization and the source. */
  sourceHash: number
  /** Differs if the record has changed since the last import. */
  digest: string
  entry: Entry
  /** Whether the advisory id is from the record. Otherwise it was generated. */
  hasOwnId: boolean
  /** The hashes of its terms in the search index. */
  hashes: number[]
}

/** Part of the digest. Increase it when the importer's output changes, so that unchanged records are imported again. */
const importerVersion = 1

/** The source is part of a primary key, and an entry of an index of PostgreSQL has at most 2704 bytes. */
const maxSourceBytes = 2500

/** Throws a StatusError if the advisory is invalid. Modifies the draft. */
export function importRowsOf(group: string, { draft, createTime, ...item }: ImportItem): ImportRows {
  const { source, format, record, origin, updateTime, withdrawTime } = item
  requireValid(draft)
  if (Buffer.byteLength(source) > maxSourceBytes)
    throw invalidField('source', `must be at most ${maxSourceBytes} bytes`)
  const hasOwnId = draft.advisoryId !== ''
  const random = seededBytes(`${group}\0${source}`)
  const uid = `${group}/${random(8).toString('hex')}`
  for (const event of draft.events) event.uid = `${uid}/${random(8).toString('hex')}`
  const advisory = Object.assign(draft, {
    ...{ uid, advisoryId: hasOwnId ? draft.advisoryId : newAdvisoryId(random) },
    ...{ createTime: timestampFromMs(createTime), updateTime: timestampFromMs(updateTime) },
  })
  const { columns, hashes } = searchColumnsOf(advisory, origin)
  const entry = entryOf(advisories, advisory, { uid, name: '', createTime, updateTime }, columns)
  requireSize(entry.proto)
  return {
    ...{ source, format, record, origin, updateTime, withdrawTime, entry, hasOwnId },
    sourceHash: hashOf(`${rootOf(group)}\n${source}`),
    digest: hash('sha256', `${importerVersion}\0${withdrawTime ?? ''}\0${record}`, 'base64url'),
    hashes: [...hashes],
  }
}

/**
 * The same advisory with the id `advisoryId`, because its id is taken. A taken id that is from the
 * record becomes an alias.
 */
export function withOtherId(group: string, rows: ImportRows, advisoryId: string): ImportRows {
  const draft = messageOf(advisories, rows.entry.proto)
  if (rows.hasOwnId) draft.aliases = [...new Set([draft.advisoryId, ...draft.aliases])]
  draft.advisoryId = advisoryId
  return importRowsOf(group, { ...rows, draft, createTime: rows.entry.createTime })
}

/**
 * Ids to try if the id of a record is taken. They are the same in every import. Anybody can compute them and use them
 * first, so they may be taken as well.
 */
export const otherIds = (group: string, { source }: ImportRows, from: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) =>
    newAdvisoryId(seededBytes(`other id ${from + at}\0${group}\0${source}`)),
  )
