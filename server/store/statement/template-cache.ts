// A cache of composed templates. A server composes the same statements all the time. Measured without the network, a
// Get takes 4 µs of CPU time with this cache and 16 µs without it; a List of 50 takes 40 µs with it and 62 µs without.
//
// This is the only cache in this room that all stores of a process share. They can share it because its keys are
// texts, functions and constants of the program.
import type { Template } from './template.ts'
import { compose } from './template.ts'

/** The template of a prepared statement. Its placeholder n gets value `order[n]`, or value n if there is no order. */
export type Compiled = { template: Template; order: readonly number[] | undefined }

/** A node of a trie: the entry for the keys on the path to it, and the nodes for further keys, compared by identity. */
export type CacheNode = {
  template?: Template
  compiled?: Compiled
  next?: Map<unknown, CacheNode>
}

/** At this number of nodes the cache is emptied: requests can cause any number of combinations of fragments. */
const nodeLimit = 20_000
/** Fragments with more pieces of text than this are composed without the cache: they rarely occur a second time. */
const cachedPieceLimit = 200

let root: CacheNode = {}
let nodeCount = 0

/** The node for a key, below another node or at the top. */
export function nodeOf(key: unknown, parent: CacheNode = root): CacheNode {
  parent.next ??= new Map()
  let node = parent.next.get(key)
  if (!node) {
    node = {}
    parent.next.set(key, node)
    if (++nodeCount > nodeLimit) clear()
  }
  return node
}

function clear(): void {
  root = {}
  nodeCount = 0
}

/** Composes fragments with the text around them. The same key must always have the same text. */
export function composeCached(
  key: unknown,
  fragments: readonly Template[],
  text: () => readonly string[],
): Template {
  if (pieceCount(fragments) > cachedPieceLimit) return compose(text(), fragments)
  let node = nodeOf(key)
  for (const fragment of fragments) node = nodeOf(fragment, node)
  node.template ??= compose(text(), fragments)
  return node.template
}

function pieceCount(fragments: readonly Template[]): number {
  let count = 0
  for (const fragment of fragments) count += fragment.length
  return count
}
