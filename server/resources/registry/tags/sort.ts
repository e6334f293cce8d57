// Sorts of tags: most lists show only those that people give.

/** Bits, of which a name has as many as apply. */
export const sorts = { referrer: 1, date: 2, epoch: 4 }

export function sortOf(name: string): number {
  const isReferrer = name.startsWith('sha256-')
  const isDate = /-20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/.test(name)
  const isEpoch = /-r\d+$/.test(name)
  return (isReferrer ? sorts.referrer : 0) + (isDate ? sorts.date : 0) + (isEpoch ? sorts.epoch : 0)
}

/** Every sort that has no other bits than these. */
export const sortsWithin = (bits: number): number[] =>
  Array.from({ length: 8 }, (_, sort) => sort).filter((sort) => (sort & ~bits) === 0)
