// A machine moves by half from one second to the next, so two sides are measured in turns and compared turn
// by turn, and of the turns the median counts.

export async function inTurns<A, B>(
  rounds: number,
  ours: () => Promise<A>,
  bound: () => Promise<B>,
): Promise<{ ours: A[]; bound: B[] }> {
  const taken = { ours: [] as A[], bound: [] as B[] }
  for (let round = 0; round < rounds; round++) {
    // Neither side always comes first.
    if (round % 2 === 0) taken.ours.push(await ours())
    taken.bound.push(await bound())
    if (round % 2 === 1) taken.ours.push(await ours())
  }
  return taken
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

/** The median of the ratios of each turn. */
export function ratioOf(ours: readonly number[], bound: readonly number[]): number {
  return median(ours.map((value, turn) => value / (bound[turn] ?? Number.NaN)))
}
