// The speed of a shared machine can change by half from one second to the next. So two sides are measured in
// alternation. Each round yields one ratio, and the result is the median of these ratios.

export async function alternate<A, B>(
  rounds: number,
  ours: () => Promise<A>,
  baseline: () => Promise<B>,
): Promise<{ ours: A[]; baseline: B[] }> {
  const samples = { ours: [] as A[], baseline: [] as B[] }
  for (let round = 0; round < rounds; round++) {
    // Neither side is always first.
    if (round % 2 === 0) samples.ours.push(await ours())
    samples.baseline.push(await baseline())
    if (round % 2 === 1) samples.ours.push(await ours())
  }
  return samples
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

/** The median of the ratios of all rounds. */
export function ratioOf(ours: readonly number[], baseline: readonly number[]): number {
  return median(ours.map((value, round) => value / (baseline[round] ?? Number.NaN)))
}
