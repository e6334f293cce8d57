// `groups tree`: the groups as the tree that they are.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { commandOf } from '../contract/commands.ts'
import { uidOf } from '../names/resolve.ts'
import { oneLine } from '../one-line.ts'
import type { Format } from '../output/print.ts'
import { jsonOf, yamlOf } from '../output/print.ts'
import type { Progress } from '../output/progress.ts'
import type { Screen } from '../output/screen.ts'
import { UsageError } from '../usage.ts'
import { pagesOf } from './list.ts'

export type Node = { uid: string; name: string; children: Node[] }

/** Of each group only its name and its place are kept, so that a large organization fits. */
export async function readTree(
  connection: Connection,
  root: string | undefined,
  progress: Progress,
): Promise<Node[]> {
  const nodes = new Map<string, Node>()
  if (root !== undefined) {
    const { name } = await connection.call(commandOf('groups', 'get').method.desc, { uid: root })
    nodes.set(root, { uid: root, name: String(name), children: [] })
  }
  let count = 0
  const request: JsonObject = root === undefined ? {} : { uidp: { descendantsOf: root } }
  for await (const { rows, total } of pagesOf(connection, commandOf('groups', 'list'), {
    ...request,
    orderBy: 'uid',
  })) {
    for (const { uid, name } of rows)
      nodes.set(String(uid), { uid: String(uid), name: String(name), children: [] })
    count += rows.length
    progress.say(count, total)
  }
  progress.clear()
  const tops = [...nodes.values()].filter((node) => {
    const parent = nodes.get(node.uid.slice(0, Math.max(0, node.uid.lastIndexOf('/'))))
    parent?.children.push(node)
    return parent === undefined
  })
  return inOrder(tops)
}

function inOrder(nodes: Node[]): Node[] {
  for (const node of nodes) inOrder(node.children)
  return nodes.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

export function* draw(nodes: Node[], depth: number, indent = ''): Generator<{ branch: string; node: Node }> {
  for (const [at, node] of nodes.entries()) {
    const isLast = at === nodes.length - 1
    yield { branch: `${indent}${isLast ? '└── ' : '├── '}`, node }
    if (depth > 1) yield* draw(node.children, depth - 1, `${indent}${isLast ? '    ' : '│   '}`)
  }
}

export type TreeWishes = { root: string | undefined; depth: string | undefined; format: Format }

export async function printTree(
  connection: Connection,
  wishes: TreeWishes,
  screen: Screen,
  progress: Progress,
): Promise<void> {
  const depth = depthOf(wishes.depth)
  const root = wishes.root === undefined ? undefined : await uidOf(connection, 'groups', wishes.root)
  const tops = (await readTree(connection, root, progress)).map((top) => prune(top, depth))
  if (wishes.format === 'json') return screen.write(`${jsonOf(tops as unknown as JsonObject)}\n`)
  if (wishes.format === 'yaml') return screen.write(yamlOf(tops))
  for (const top of tops) {
    await screen.write(lineOf('', top, wishes.format, screen))
    for (const { branch, node } of draw(top.children, depth))
      await screen.write(lineOf(branch, node, wishes.format, screen))
  }
}

function lineOf(branch: string, { uid, name }: Node, format: Format, screen: Screen): string {
  if (format === 'uid') return `${uid}\n`
  const shown = branch === '' ? screen.bold(oneLine(name)) : oneLine(name)
  return `${screen.dim(branch)}${shown}${format === 'wide' ? `  ${screen.dim(uid)}` : ''}\n`
}

const prune = (node: Node, depth: number): Node => ({
  ...node,
  children: depth > 0 ? node.children.map((child) => prune(child, depth - 1)) : [],
})

function depthOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY
  if (!/^\d+$/.test(text)) throw new UsageError(`--depth must be a whole number, not ${JSON.stringify(text)}`)
  return Number(text)
}
