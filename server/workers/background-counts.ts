// The metrics of garbage collection, of retention and of the event log. Every worker counts
// the events that it dropped; the first worker counts everything else. The thread that serves
// /metrics reads the counts.

const collection = ['runs', 'errors', 'blobs', 'bytes', 'uploads', 'seconds', 'lastSuccess'] as const
const retention = ['retentionRepos', 'retentionErrors', 'retentionTags', 'retentionManifests'] as const
const events = ['eventsDropped', 'eventsExpired'] as const
const names = [...collection, ...retention, ...events]

export type BackgroundCounts = Float64Array<SharedArrayBuffer>

export const makeBackgroundCounts = (): BackgroundCounts =>
  new Float64Array(new SharedArrayBuffer(names.length * Float64Array.BYTES_PER_ELEMENT))

export function addCounts(
  counts: BackgroundCounts,
  added: Partial<Record<(typeof names)[number], number>>,
): void {
  for (const [at, name] of names.entries()) counts[at] = (counts[at] ?? 0) + (added[name] ?? 0)
}

export function setLastSuccess(counts: BackgroundCounts, seconds: number): void {
  counts[names.indexOf('lastSuccess')] = seconds
}

export const readCounts = (counts: BackgroundCounts) =>
  // The array has an element for each name.
  Object.fromEntries(names.map((name, at) => [name, counts[at]])) as Record<(typeof names)[number], number>
