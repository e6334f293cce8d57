// The metrics of garbage collection, of retention and of the event log. Every worker counts
// the events that it dropped; the first worker counts everything else. The thread that serves
// /metrics reads the counts.

const collection = ['runs', 'errors', 'blobs', 'bytes', 'uploads', 'seconds', 'lastSuccess'] as const
const retention = ['retentionRepos', 'retentionErrors', 'retentionTags', 'retentionManifests'] as const
const events = ['eventsDropped', 'eventsExpired'] as const
const names = [...collection, ...retention, ...events]

type Name = (typeof names)[number]

/** In thousandths: times have fractions of a second, and atomic operations need integers. */
export type BackgroundCounts = BigInt64Array<SharedArrayBuffer>

const thousandths = (value: number) => BigInt(Math.round(value * 1000))

export const makeBackgroundCounts = (): BackgroundCounts =>
  new BigInt64Array(new SharedArrayBuffer(names.length * BigInt64Array.BYTES_PER_ELEMENT))

export function addCounts(counts: BackgroundCounts, added: Partial<Record<Name, number>>): void {
  for (const [at, name] of names.entries()) Atomics.add(counts, at, thousandths(added[name] ?? 0))
}

export function setLastSuccess(counts: BackgroundCounts, seconds: number): void {
  Atomics.store(counts, names.indexOf('lastSuccess'), thousandths(seconds))
}

export const readCounts = (counts: BackgroundCounts) =>
  Object.fromEntries(names.map((name, at) => [name, Number(Atomics.load(counts, at)) / 1000])) as Record<
    Name,
    number
  >
