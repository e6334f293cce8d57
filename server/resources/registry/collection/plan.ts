// Predicts what a garbage collection of registry content would delete, without changing anything.
import type { Digest } from '../../../blobs/digest.ts'
import type { Row, Sql } from '../../../store/sql.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import { hasManifest } from '../blob-use.ts'
import type { CollectionDependencies, CollectionTotals } from './collection.ts'
import { oldestUpload, unknownBlobs, unknownUploads } from './unknown-content.ts'

const rowsAtATime = 500

type PlanDependencies = Pick<CollectionDependencies, 'store' | 'storage' | 'now' | 'graceMs' | 'onProgress'>

/** The totals of a collection that would run now. Content that changes meanwhile may be counted or not. */
export async function planCollection(
  deps: PlanDependencies,
  { withUnknownBlobs = false } = {},
): Promise<CollectionTotals> {
  const { store, now, graceMs, onProgress } = deps
  const totals: CollectionTotals = { uploads: 0, links: 0, blobs: 0, bytes: 0, failures: 0 }
  const add = (found: Partial<CollectionTotals>) => {
    for (const name of Object.keys(found) as (keyof CollectionTotals)[]) totals[name] += found[name] ?? 0
    onProgress?.(totals)
  }
  const time = now()
  const oldestKept = oldestUpload(time, graceMs)
  const context: PlanContext = { ...deps, time, graceStart: time - graceMs, oldestKept }
  const [row] = await store.query(sql`select count(*) from uploads where update_time < ${oldestKept}`)
  add({ uploads: row?.[0] as number })
  for await (const ids of unknownUploads(deps)) add({ uploads: ids.length })
  for await (const counts of dueLinks(context)) add(counts)
  for await (const counts of dueBlobs(context)) add(counts)
  for await (const blobs of withUnknownBlobs ? unknownBlobs(deps) : [])
    add({ blobs: blobs.length, bytes: blobs.reduce((sum, { size }) => sum + size, 0) })
  return totals
}

/** Uploads last written before `oldestKept` are abandoned: they are deleted and protect no blob. */
type PlanContext = PlanDependencies & { time: number; graceStart: number; oldestKept: number }

/** SQL: whether a collection would keep the link. */
const isKept = (graceStart: number): Sql =>
  sql`(repo_blobs.unused_since is null or repo_blobs.unused_since > ${graceStart} or ${hasManifest})`

/** SQL: whether a collection would delete the blob, once it has removed the links that are due. */
const isDeleted = ({ graceStart, oldestKept }: PlanContext): Sql => sql`not exists
  (select 1 from repo_blobs where repo_blobs.digest = b.digest and ${isKept(graceStart)})
  and not ${hasUpload(oldestKept)}
  and (b.unused_since is null or b.unused_since <= ${graceStart})`

/** SQL: whether an upload that a collection would keep has the blob. */
const hasUpload = (oldestKept: number): Sql =>
  sql`exists (select 1 from uploads u where u.digest = b.digest and u.update_time >= ${oldestKept})`

/** Links that would be removed, and the blobs that would have none left. Each blob is counted with its first link. */
async function* dueLinks(context: PlanContext): AsyncGenerator<Partial<CollectionTotals>> {
  const { store, graceStart } = context
  let after = sql`(${-1}, ${''}, ${''})`
  for (;;) {
    const rows = await store.query(sql`select repo, digest, unused_since from repo_blobs
      where unused_since <= ${graceStart} and not ${hasManifest} and (unused_since, repo, digest) > ${after}
      order by unused_since, repo, digest limit ${rowsAtATime}`)
    const last = rows.at(-1)
    if (!last) return
    after = sql`(${last[2] as number}, ${last[0] as string}, ${last[1] as string})`
    const digests = among(rows.map(([, digest]) => digest as string))
    const first = raw('(select min(repo) from repo_blobs where repo_blobs.digest = b.digest)')
    const blobs = await store.query(sql`select b.digest, b.size, ${first} from blobs b
      where b.digest in ${digests} and ${isDeleted(context)}`)
    const listed = new Set(rows.map(([repo, digest]) => `${repo} ${digest}`))
    const counted = blobs.filter(([digest, , repo]) => listed.has(`${repo} ${digest}`))
    yield { links: rows.length, ...(await countStored(context, counted)) }
  }
}

/** Blobs without a link. */
async function* dueBlobs(context: PlanContext): AsyncGenerator<Partial<CollectionTotals>> {
  const { store, time, graceStart, oldestKept } = context
  let after = sql`(${-1}, ${''})`
  for (;;) {
    const rows = await store.query(sql`select b.digest, b.size, b.unused_since from blobs b
      where b.unused_since <= ${graceStart} and (b.claimed_until is null or b.claimed_until <= ${time})
      and not exists (select 1 from repo_blobs r where r.digest = b.digest)
      and not ${hasUpload(oldestKept)}
      and (b.unused_since, b.digest) > ${after} order by b.unused_since, b.digest limit ${rowsAtATime}`)
    const last = rows.at(-1)
    if (!last) return
    after = sql`(${last[2] as number}, ${last[0] as string})`
    yield await countStored(context, rows)
  }
}

/**
 * Counts the blobs that have bytes. If the push of a blob was interrupted, the size in its row is 0,
 * and the storage may or may not have bytes.
 */
async function countStored(
  { storage }: PlanContext,
  rows: readonly Row[],
): Promise<Pick<CollectionTotals, 'blobs' | 'bytes'>> {
  const counts = { blobs: 0, bytes: 0 }
  for (const [digest, size] of rows) {
    const stored = size !== 0 ? (size as number) : await storage.size(digest as Digest)
    if (stored === undefined) continue
    counts.blobs++
    counts.bytes += stored
  }
  return counts
}
