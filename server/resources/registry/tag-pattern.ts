// Patterns of tags, such as `v*`: `*` stands for any number of characters, and `?` for one. Patterns are matched without
// regular expressions, in at most length of the pattern times length of the name steps.

export function matchesPattern(name: string, pattern: string): boolean {
  let [at, inPattern] = [0, 0]
  /** Where to continue if a later part does not match: behind the last `*`, which then stands for one more character. */
  let [nextAt, afterStar] = [0, -1]
  while (at < name.length) {
    const expected = pattern[inPattern]
    if (expected === '*') {
      afterStar = ++inPattern
      nextAt = at
    } else if (expected === '?' || expected === name[at]) {
      at++
      inPattern++
    } else if (afterStar >= 0) {
      at = ++nextAt
      inPattern = afterStar
    } else return false
  }
  return /^\**$/.test(pattern.slice(inPattern))
}

/** The first of the patterns that matches. */
export const patternFor = (name: string, patterns: readonly string[]): string | undefined =>
  patterns.find((pattern) => matchesPattern(name, pattern))
