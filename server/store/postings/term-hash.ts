// Hashes of terms. They are stored, so the function must not change.

type HashState = readonly [low: number, high: number]

/** The prefix of terms that are trigrams. No other term may start with it. */
const trigramPrefix = 'q:'
const trigramLength = 3

/** The hashes of terms in a scope, and of all trigrams of the texts. */
export function termHashes(scope: string, terms: Iterable<string>, texts: Iterable<string>): Set<number> {
  const start = stateAfter(`${scope}\n`)
  const hashes = new Set<number>()
  for (const term of terms) hashes.add(hashOf(term, start))
  const trigramStart = stateAfter(trigramPrefix, start)
  for (const text of texts)
    for (let at = 0; at + trigramLength <= text.length; at++)
      hashes.add(hashOf(text, trigramStart, at, at + trigramLength))
  return hashes
}

/** A hash of 52 bits, which a JavaScript number represents exactly: two FNV-like hashes of 32 and 20 bits. */
export function hashOf(text: string, start?: HashState, from?: number, to?: number): number {
  const [low, high] = stateAfter(text, start, from, to)
  return (low >>> 0) + ((high ^ (high >>> 13)) & 0xfffff) * 2 ** 32
}

/** Continues a hash with the UTF-16 units of a text. */
function stateAfter(
  text: string,
  [low, high]: HashState = [0x811c9dc5, 0x9747b28c],
  from = 0,
  to = text.length,
): HashState {
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(high ^ unit, 0x85ebca6b) ^ (low >>> 15)
  }
  return [low, high]
}
