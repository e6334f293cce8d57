// Patterns of tags, such as `v*`: `*` stands for any number of characters. The texts between the stars are searched from
// left to right, each after the previous one, so matching takes microseconds for every pattern.

export function matchesPattern(name: string, pattern: string): boolean {
  const [start = '', ...rest] = pattern.split('*')
  const end = rest.pop()
  if (end === undefined) return name === start
  if (!name.startsWith(start) || !name.endsWith(end)) return false
  const last = name.length - end.length
  let at = start.length
  for (const text of rest) {
    const found = name.indexOf(text, at)
    if (found < 0) return false
    at = found + text.length
  }
  return at <= last
}

/** The first of the patterns that matches. */
export const patternFor = (name: string, patterns: readonly string[]): string | undefined =>
  patterns.find((pattern) => matchesPattern(name, pattern))
