// Types of tags, by their names. Lists leave out tags that tools create unless they are asked for.

/** Bits: a name may have several types. */
export const tagTypes = { referrer: 1, date: 2, epoch: 4 }

/** Of a name such as `sha256-…` (referrer), `1.2-20260131` (date) or `1.2-r3` (epoch). */
export function tagTypeOf(name: string): number {
  const isReferrer = name.startsWith('sha256-')
  const isDate = /-20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/.test(name)
  const isEpoch = /-r\d+$/.test(name)
  return (isReferrer ? tagTypes.referrer : 0) + (isDate ? tagTypes.date : 0) + (isEpoch ? tagTypes.epoch : 0)
}

/** Every combination of these bits, with 0 for names without a type. */
export const typesWithin = (bits: number): number[] =>
  Array.from({ length: 8 }, (_, type) => type).filter((type) => (type & ~bits) === 0)
