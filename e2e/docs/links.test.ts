// Every link between our pages leads somewhere.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const pages = globSync('{*.md,docs/**/*.md}', { cwd: root })

const withoutCode = (text: string) =>
  text.replace(/^ *(`{3,})[\s\S]*?^ *\1 *$/gm, '').replace(/`[^`\n]*`/g, '')

function anchorsOf(file: string): Set<string> {
  const text = readFileSync(file, 'utf8')
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)])
}

for (const page of pages) {
  test(`the links of ${page}`, () => {
    const text = withoutCode(readFileSync(join(root, page), 'utf8'))
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? join(root, page) : join(root, dirname(page), path)
      assert.ok(existsSync(file), `${page} links to ${target}, which is not there`)
      if (anchor !== undefined && statSync(file).isFile())
        assert.ok(anchorsOf(file).has(anchor), `${page} links to ${target}, which has no such heading`)
    }
  })
}
