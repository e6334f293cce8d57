// Values for property tests.
import fc from 'fast-check'

const hex = (length: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length })
    .map((digits) => digits.join(''))

/** Any uid, up to the given number of segments. */
export const anyUid = (mostSegments = 6) =>
  fc
    .tuple(hex(40), fc.array(hex(16), { maxLength: mostSegments - 1 }))
    .map(([root, segments]) => [root, ...segments].join('/'))

const root = (digit: string) => digit.repeat(40)
const segment = (digit: string) => digit.repeat(16)

/** Every uid of a small tree, so that random ones meet: two roots, two children each, four levels. */
export const smallTree: readonly string[] = grow([root('0'), root('f')], 3)

function grow(level: string[], levelsBelow: number): string[] {
  if (levelsBelow === 0) return level
  const below = level.flatMap((uid) => ['0', 'f'].map((digit) => `${uid}/${segment(digit)}`))
  return [...level, ...grow(below, levelsBelow - 1)]
}

export const uidInSmallTree = fc.constantFrom(...smallTree)
