// The metrics of events and of deliveries. Several threads may count, and whichever thread serves /metrics reads the counts.

const counted = ['delivered', 'failedAttempts', 'deadLetters'] as const
/** Read from the store every minute. */
const measured = ['pending', 'queueLength', 'recorded', 'unsealed'] as const
const names = [...counted, ...measured]
type Name = (typeof names)[number]

export type DeliveryCounts = BigInt64Array<SharedArrayBuffer>

export const makeDeliveryCounts = (): DeliveryCounts =>
  new BigInt64Array(new SharedArrayBuffer(names.length * BigInt64Array.BYTES_PER_ELEMENT))

export function countDelivery(counts: DeliveryCounts, name: (typeof counted)[number]): void {
  Atomics.add(counts, names.indexOf(name), 1n)
}

export type Measured = Record<(typeof measured)[number], number>

export function setMeasured(counts: DeliveryCounts, values: Measured): void {
  for (const name of measured) Atomics.store(counts, names.indexOf(name), BigInt(values[name]))
}

export const readDeliveryCounts = (counts: DeliveryCounts) =>
  Object.fromEntries(names.map((name, at) => [name, Number(Atomics.load(counts, at))])) as Record<
    Name,
    number
  >
