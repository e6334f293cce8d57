// Generators of values for property tests.
import fc from 'fast-check'

const hex = (length: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length })
    .map((digits) => digits.join(''))

/**
 * Any code point but surrogates, as the unit of `fc.string`. The unit `binary` of fast-check has the same characters, but
 * takes a second of CPU time in each process, for a map of all of them.
 */
export const anyCodePoint = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point))

/** Any uid of up to `maxSegments` segments. */
export const anyUid = (maxSegments = 6) =>
  fc
    .tuple(hex(40), fc.array(hex(16), { maxLength: maxSegments - 1 }))
    .map(([root, segments]) => [root, ...segments].join('/'))

const root = (digit: string) => digit.repeat(40)
const segment = (digit: string) => digit.repeat(16)

/** All uids of a tree of two roots, four levels and two children per node: small, so that random picks are often related. */
export const smallTree: readonly string[] = grow([root('0'), root('f')], 3)

function grow(level: string[], levelsBelow: number): string[] {
  if (levelsBelow === 0) return level
  const below = level.flatMap((uid) => ['0', 'f'].map((digit) => `${uid}/${segment(digit)}`))
  return [...level, ...grow(below, levelsBelow - 1)]
}

export const uidInSmallTree = fc.constantFrom(...smallTree)
