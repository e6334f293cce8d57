// Suggests names for a misspelt word.

/** In characters. A longer word is not a typing error, and comparing it with the names would be slow. */
const maxWordLength = 100
const maxSuggestions = 3

/** Up to three names that are similar to a word, the most similar first. */
export function nearestNames(word: string, names: readonly string[]): string[] {
  if (word.length > maxWordLength) return []
  const startsOrEndsWithWord = (name: string) =>
    name.endsWith(`.${word}`) || (word.length > 2 && name.startsWith(word))
  return names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .filter(({ name, distance }) => distance <= 2 || startsOrEndsWithWord(name))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, maxSuggestions)
    .map(({ name }) => name)
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
