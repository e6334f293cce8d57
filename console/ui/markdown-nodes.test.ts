import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarkdownNode } from './markdown-nodes.ts'
import { parseMarkdown } from './markdown-nodes.ts'

const elements = (nodes: MarkdownNode[]): number =>
  nodes.reduce((sum, node) => sum + (typeof node === 'string' ? 0 : 1 + elements(node.content)), 0)
const depth = (nodes: MarkdownNode[]): number =>
  Math.max(0, ...nodes.map((node) => (typeof node === 'string' ? 0 : 1 + depth(node.content))))

test('a text is shortened to 5000 elements and texts', () => {
  for (const [text, count, isShortened] of [
    ['***\n'.repeat(5000), 5000, false],
    ['***\n'.repeat(5001), 5000, true],
    // Texts count too: a row is one row, two cells and two texts.
    [`| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(2000)}`, 3001, true],
  ] as const) {
    const parsed = parseMarkdown(text)
    assert.deepEqual([elements(parsed.nodes), parsed.isShortened], [count, isShortened])
  }
})

test('levels below the fortieth are left out', () => {
  for (const level of ['> ', '1. ']) {
    const { nodes } = parseMarkdown(`${level.repeat(100)}text`)
    assert.equal(depth(nodes), 41)
    assert.match(JSON.stringify(nodes), /"…"/)
  }
})

test('comments are left out, and one without an end is kept', () => {
  const { nodes } = parseMarkdown(
    '<!-- a --> visible text <!-- b -->\n\nseen <!-- hidden --> as well\n\n<!-- hidden\n\ntoo -->',
  )
  assert.deepEqual(nodes, [
    { tag: 'p', content: [' visible text '] },
    { tag: 'p', content: ['seen ', '', ' as well'] },
  ])
  const unended = '<!--'.repeat(16_384)
  assert.deepEqual(parseMarkdown(unended).nodes, [{ tag: 'p', content: [unended] }])
})
