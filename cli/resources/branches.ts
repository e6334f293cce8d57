// Trees of any kind: the lines between their nodes, and how deep they are shown.
import { UsageError } from '../failure.ts'

type Node<T> = { children: T[] }

/** The nodes of a tree in order, each with the lines that connect it to its parent. */
export function* branches<T extends Node<T>>(
  nodes: T[],
  depth: number,
  indent = '',
): Generator<{ branch: string; node: T }> {
  for (const [index, node] of nodes.entries()) {
    const isLast = index === nodes.length - 1
    yield { branch: `${indent}${isLast ? '└── ' : '├── '}`, node }
    if (depth > 1) yield* branches(node.children, depth - 1, `${indent}${isLast ? '    ' : '│   '}`)
  }
}

export const prune = <T extends Node<T>>(node: T, depth: number): T => ({
  ...node,
  children: depth > 0 ? node.children.map((child) => prune(child, depth - 1)) : [],
})

export function parseDepth(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY
  if (!/^\d+$/.test(text)) throw new UsageError(`--depth must be a whole number, not ${JSON.stringify(text)}`)
  return Number(text)
}
