// The text of a statement in pieces, with a hole for a value between two of them. The same statements are put
// together again and again, so what was put together once is kept: whatever has the same pieces is known to a
// driver without being read.

export type Pieces = readonly string[]

/** A value among other pieces. */
export const hole: Pieces = Object.freeze(['', ''])

/** What came of a site and the parts so far, and where other parts lead from there. */
type Known = { pieces?: Pieces; next?: Map<unknown, Known> }

const mostKnown = 20_000
/** What has more is rare, large and mostly of a length of its own, so it is not kept. */
const mostPieces = 200
let sites: Known = {}
let count = 0

/** Parts with text around them. `site` stands for the text: the same site always has the same. */
export function weave(site: unknown, parts: readonly Pieces[], textAround: () => readonly string[]): Pieces {
  if (sizeOf(parts) > mostPieces) return putTogether(textAround(), parts)
  let known = follow(sites, site)
  for (const part of parts) known = follow(known, part)
  known.pieces ??= Object.freeze(putTogether(textAround(), parts))
  return known.pieces
}

/** What was put together for these keys, the first of which says what it is. Pieces among them are never too many. */
export function remember(keys: readonly unknown[], putTogether: () => Pieces): Pieces {
  let known = sites
  for (const key of keys) known = follow(known, key)
  known.pieces ??= putTogether()
  return known.pieces
}

function sizeOf(parts: readonly Pieces[]): number {
  let size = 0
  for (const part of parts) size += part.length
  return size
}

function follow(from: Known, key: unknown): Known {
  from.next ??= new Map()
  let known = from.next.get(key)
  if (!known) {
    known = {}
    from.next.set(key, known)
    if (++count > mostKnown) forget()
  }
  return known
}

function forget(): void {
  sites = {}
  count = 0
}

function putTogether(text: readonly string[], parts: readonly Pieces[]): string[] {
  const pieces = [text[0] ?? '']
  const extend = (more = '') => pieces.push((pieces.pop() ?? '') + more)
  parts.forEach((part, at) => {
    extend(part[0])
    pieces.push(...part.slice(1))
    extend(text[at + 1])
  })
  return pieces
}
