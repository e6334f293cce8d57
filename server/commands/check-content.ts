// Compares the blobs of repos in the database with those in the storage. Servers can run meanwhile.
import { createHash } from 'node:crypto'
import type { BlobStore, StoredBlob } from '../blobs/blob-store.ts'
import type { Digest } from '../blobs/digest.ts'
import { algorithmOf, hexOf } from '../blobs/digest.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'

export type ContentCheck = { store: Store; storage: BlobStore; onBlob(): void }

export type ContentFinding = {
  digest: string
  /** The rest of a sentence whose subject is the blob, such as `is missing`. */
  fault: string
  /** Repos that have the blob, at most ten, and how many have it. */
  repos: { uid: string; name: string }[]
  repoCount: number
}

/** `faults` is the number of blobs that cannot be used. At most 1000 of them are described. */
export type ContentReport = { blobs: number; bytes: number; faults: number; findings: ContentFinding[] }

type BlobRow = { digest: Digest; size: number }

const rowsAtATime = 500
const maxRepos = 10
const maxFindings = 1000

/** `shouldHash`: whether to read the content of every blob and compare its digest. */
export async function checkContent(check: ContentCheck, shouldHash: boolean): Promise<ContentReport> {
  const { store, storage, onBlob } = check
  const report: ContentReport = { blobs: 0, bytes: 0, faults: 0, findings: [] }
  // Rows and blobs are both in the order of their digests, so each is read once.
  const listed = storage.list()[Symbol.asyncIterator]()
  let stored = await listed.next()
  for await (const row of linkedBlobs(store)) {
    while (!stored.done && stored.value.digest < row.digest) stored = await listed.next()
    const match = !stored.done && stored.value.digest === row.digest ? stored.value : undefined
    const fault = await findFault(storage, row, match, shouldHash)
    // The blob may have been deleted since its row was read.
    const finding = fault === undefined ? undefined : await describe(store, row, fault)
    if (finding) report.faults++
    if (finding && report.findings.length < maxFindings) report.findings.push(finding)
    report.blobs++
    report.bytes += row.size
    onBlob()
  }
  await listed.return?.()
  return report
}

/** Blobs that a repo has. A blob without a repo cannot be read, and is deleted soon. */
async function* linkedBlobs(store: Store): AsyncGenerator<BlobRow> {
  let last = ''
  for (;;) {
    const rows = await store.query(sql`select digest, size from blobs where digest > ${last}
      and exists (select 1 from repo_blobs r where r.digest = blobs.digest)
      order by digest limit ${rowsAtATime}`)
    // Only digests are stored in this column.
    for (const [digest, size] of rows) yield { digest: digest as Digest, size: size as number }
    if (rows.length < rowsAtATime) return
    last = rows.at(-1)?.[0] as string
  }
}

async function findFault(
  storage: BlobStore,
  { digest, size }: BlobRow,
  listed: StoredBlob | undefined,
  shouldHash: boolean,
): Promise<string | undefined> {
  // The list is older than the row, so a blob that was pushed meanwhile is not in it.
  const actual = listed?.size === size ? size : await storage.size(digest)
  if (actual === undefined) return 'is missing'
  if (actual !== size) return `has ${actual} bytes in place of ${size}`
  if (!shouldHash) return undefined
  const hash = createHash(algorithmOf(digest))
  try {
    const content = await storage.read(digest)
    for await (const chunk of content.stream()) hash.update(chunk)
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`
  }
  const hex = hash.digest('hex')
  return hex === hexOf(digest)
    ? undefined
    : `has other content, with the digest ${algorithmOf(digest)}:${hex}`
}

/** Undefined if no repo has the blob any more. */
async function describe(
  store: Store,
  { digest }: BlobRow,
  fault: string,
): Promise<ContentFinding | undefined> {
  const repos = await store.query(sql`select repos.uid, repos.name from repo_blobs r
    join repos on repos.uid = r.repo where r.digest = ${digest} order by repos.uid limit ${maxRepos}`)
  if (repos.length === 0) return undefined
  const [count] = await store.query(sql`select count(*) from repo_blobs where digest = ${digest}`)
  return {
    ...{ digest, fault, repoCount: count?.[0] as number },
    repos: repos.map(([uid, name]) => ({ uid: uid as string, name: name as string })),
  }
}
