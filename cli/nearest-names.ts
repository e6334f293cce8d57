// Suggestions for a misspelt flag.

/** Up to three names that are similar to a word, as ` (did you mean --name?)`. Empty if there are none. */
export function suggestionFor(word: string, names: string[]): string {
  const similar = names.filter(
    (name) =>
      editDistance(word, name) <= 2 ||
      name.endsWith(`.${word}`) ||
      (word.length > 2 && name.startsWith(word)),
  )
  if (similar.length === 0) return ''
  const flags = similar.slice(0, 3).map((name) => `--${name}`)
  return ` (did you mean ${flags.join(' or ')}?)`
}

/** The Levenshtein distance: how many letters must be inserted, removed or replaced. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    row = next
  }
  return row[b.length] ?? 0
}
