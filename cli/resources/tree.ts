import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { commandOf } from '../contract/commands.ts'
import { resolveUid } from '../names/resolve.ts'
import type { Format } from '../output/format.ts'
import type { Progress } from '../output/progress.ts'
import type { Screen } from '../output/screen.ts'
import { toJson, toYaml } from '../output/serialize.ts'
import { singleLine } from '../single-line.ts'
import { branches, parseDepth, prune } from './branches.ts'
import { listPages } from './list.ts'

export type TreeNode = { uid: string; name: string; children: TreeNode[] }
export type TreeOptions = { root: string | undefined; depth: string | undefined; format: Format }

export async function printTree(
  connection: Connection,
  options: TreeOptions,
  screen: Screen,
  progress: Progress,
): Promise<void> {
  const { format } = options
  const depth = parseDepth(options.depth)
  const root = options.root === undefined ? undefined : await resolveUid(connection, 'groups', options.root)
  const roots = (await readTree(connection, root, progress)).map((node) => prune(node, depth))
  if (format === 'json') return screen.write(`${toJson(roots as unknown as JsonObject)}\n`)
  if (format === 'yaml') return screen.write(await toYaml(roots))
  for (const node of roots) {
    await screen.write(lineOf('', node, format, screen))
    for (const { branch, node: child } of branches(node.children, depth))
      await screen.write(lineOf(branch, child, format, screen))
  }
}

/**
 * Reads the group `root` and the groups below it, or all groups. Only the uid and name of each group are stored, so that
 * large organizations fit into memory.
 */
async function readTree(
  connection: Connection,
  root: string | undefined,
  progress: Progress,
): Promise<TreeNode[]> {
  const nodes = new Map<string, TreeNode>()
  const add = (uid: string, name: string) => nodes.set(uid, { uid, name, children: [] })
  if (root !== undefined) {
    const { name } = await connection.call(commandOf('groups', 'get').method.desc, { uid: root })
    add(root, String(name))
  }
  let count = 0
  const request = { ...(root !== undefined && { uidp: { descendantsOf: root } }), orderBy: 'uid' }
  try {
    for await (const { rows, totalCount } of listPages(connection, commandOf('groups', 'list'), request)) {
      for (const { uid, name } of rows) add(String(uid), String(name))
      count += rows.length
      progress.update(count, totalCount)
    }
  } finally {
    progress.clear()
  }
  return linkNodes(nodes)
}

/** Adds each node to the children of its parent. Returns the nodes without a parent in the list, sorted by name. */
function linkNodes(nodes: Map<string, TreeNode>): TreeNode[] {
  const roots = [...nodes.values()].filter((node) => {
    const parent = nodes.get(node.uid.slice(0, Math.max(0, node.uid.lastIndexOf('/'))))
    parent?.children.push(node)
    return parent === undefined
  })
  return sortByName(roots)
}

function sortByName(nodes: TreeNode[]): TreeNode[] {
  for (const node of nodes) sortByName(node.children)
  return nodes.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

function lineOf(branch: string, { uid, name }: TreeNode, format: Format, screen: Screen): string {
  if (format === 'uid') return `${uid}\n`
  const text = branch === '' ? screen.bold(singleLine(name)) : singleLine(name)
  return `${screen.dim(branch)}${text}${format === 'wide' ? `  ${screen.dim(uid)}` : ''}\n`
}
