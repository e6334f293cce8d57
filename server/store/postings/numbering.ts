// The numbers of documents, segments and blocks. They are stored, so the way they are computed must not change.

/**
 * The number of a document: the first 52 of the last 64 bits of its uid. A JavaScript number
 * represents 52 bits exactly. If two documents have the same number, which is rare, a search finds
 * both and tests them.
 */
export const documentNumberOf = (uid: string) => Number.parseInt(uid.slice(-16, -3), 16)

/**
 * A segment has this many consecutive pack numbers, starting with its own number. The packs with
 * the first number of a block belong to the whole block: they contain the postings of rare terms.
 */
export const packsPerSegment = 32

export const segmentsPerBlock = 8

const packsPerBlock = packsPerSegment * segmentsPerBlock

/** The segment of totals. It sorts before all others. */
export const totalSegment = -1

/** The first segment of a block, which identifies the block. */
export const blockOf = (segment: number) => segment - (segment % packsPerBlock)

/**
 * The first segment of a new block. It is at least 2^52. A document that is written alone has a segment of its own,
 * with the number of the document, which is below 2^52; so the two never collide.
 */
export const newBlock = (firstUid: string) => blockOf(documentNumberOf(firstUid)) + 2 ** 52

/** Returns the segment for each batch of an import, given the uid of its first document. */
export function openSegments(): (firstUid: string) => number {
  let batches = 0
  let segment = 0
  return (firstUid) => {
    segment = batches++ % segmentsPerBlock === 0 ? newBlock(firstUid) : segment + packsPerSegment
    return segment
  }
}
