// Types of tags, which follow from their names. Tools create tags of these types, so lists leave them out unless the
// request includes them.

/** Each type is one bit, since a name may have several types. */
export const tagTypes = { referrer: 1, date: 2, epoch: 4 }

/** The types of a name, as bits: `sha256-…` is a referrer, `1.2-20260131` a date and `1.2-r3` an epoch. */
export function tagTypeOf(name: string): number {
  const isReferrer = name.startsWith('sha256-')
  const isDate = /-20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/.test(name)
  const isEpoch = /-r\d+$/.test(name)
  return (isReferrer ? tagTypes.referrer : 0) + (isDate ? tagTypes.date : 0) + (isEpoch ? tagTypes.epoch : 0)
}

/** Every combination of these bits, including 0, which stands for names without a type. */
export const typesWithin = (bits: number): number[] =>
  Array.from({ length: 8 }, (_, type) => type).filter((type) => (type & ~bits) === 0)
