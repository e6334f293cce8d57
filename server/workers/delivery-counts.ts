// The metrics of deliveries. Several threads may count, and whichever thread serves /metrics reads the counts.

const names = ['delivered', 'failedAttempts', 'deadLetters', 'pending'] as const
type Name = (typeof names)[number]

export type DeliveryCounts = BigInt64Array<SharedArrayBuffer>

export const makeDeliveryCounts = (): DeliveryCounts =>
  new BigInt64Array(new SharedArrayBuffer(names.length * BigInt64Array.BYTES_PER_ELEMENT))

export function countDelivery(counts: DeliveryCounts, name: Name): void {
  Atomics.add(counts, names.indexOf(name), 1n)
}

export function setPending(counts: DeliveryCounts, pending: number): void {
  Atomics.store(counts, names.indexOf('pending'), BigInt(pending))
}

export const readDeliveryCounts = (counts: DeliveryCounts) =>
  Object.fromEntries(names.map((name, at) => [name, Number(Atomics.load(counts, at))])) as Record<
    Name,
    number
  >
