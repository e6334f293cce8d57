import assert from 'node:assert/strict'
import { test } from 'node:test'
import { branches } from './branches.ts'
import type { TreeNode } from './tree.ts'

test('a tree has a branch for each group, down to the requested depth', () => {
  const node = (name: string, ...children: TreeNode[]): TreeNode => ({ uid: name, name, children })
  const tree = [node('a', node('b'), node('c', node('d'))), node('e')]
  const lines = (depth: number) =>
    [...branches(tree, depth)].map(({ branch, node: { name } }) => branch + name)
  assert.deepEqual(lines(9), ['├── a', '│   ├── b', '│   └── c', '│       └── d', '└── e'])
  assert.deepEqual(lines(1), ['├── a', '└── e'])
})
