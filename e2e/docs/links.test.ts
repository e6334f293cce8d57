// Every reference in our pages and comments leads to something that exists: links between pages, file paths,
// rooms, log messages, and sections of the specification.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { listFiles } from '../../scripts/imports.ts'
import { mayImport } from '../../scripts/rooms.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const pages = globSync('{*.md,{api,cli,server}/*.md,docs/**/*.md}', { cwd: root })

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

describe('links', () => {
  for (const page of pages) {
    test(`of ${page} lead to files and headings that exist`, () => {
      for (const [, target = ''] of withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue
        const [path = '', anchor] = target.split('#')
        const file = path === '' ? join(root, page) : join(root, dirname(page), path)
        assert.ok(existsSync(file), `${page} links to ${target}, which does not exist`)
        if (anchor !== undefined && statSync(file).isFile())
          assert.ok(anchorsOf(file).has(anchor), `${page} links to ${target}, which has no such heading`)
      }
    })
  }
})

describe('file paths', () => {
  // Each starts with a slash, because `exists` compares whole folder names: `store/sql.ts` in a page is found as
  // `/server/store/sql.ts`, and `re/sql.ts` is not found.
  const files = globSync('**/*', { cwd: root, exclude: ['**/node_modules', '.git', 'dist'] }).map(
    (file) => `/${file}`,
  )
  const exists = (path: string) => files.some((file) => file.endsWith(`/${path.replace(/\/$/, '')}`))

  const namePattern = String.raw`[\w.@-]+`
  const pathPattern = new RegExp(
    `^(?:${namePattern}/)+$|^(?:${namePattern}/)*${namePattern}\\.(?:[cm]?[jt]s|md|sql|proto|sh|go|json|ya?ml|cfg|svg)$`,
  )

  for (const page of [
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    ...globSync('docs/internals/*.md', { cwd: root }),
  ]) {
    test(`in ${page} exist`, () => {
      const quoted = [...read(page).matchAll(/(?<!New file )`([^`\n]+)`/g)].map(([, text = '']) => text)
      assert.deepEqual(
        // A name with NNNN stands for a file to be created.
        quoted.filter((text) => pathPattern.test(text) && !text.includes('NNNN') && !exists(text)),
        [],
      )
    })
  }
})

test('the rooms in ARCHITECTURE.md are the folders of the server and the other folders of the import table', () => {
  const [, section = ''] = /\n## Rooms\n([\s\S]*?)\n## /.exec(read('ARCHITECTURE.md')) ?? []
  const cells = [...section.matchAll(/^\| (.+?) \|/gm)].map(([, cell = '']) => cell)
  const rooms = cells.flatMap((cell) => [...cell.matchAll(/`([\w/-]+)\/`/g)].map(([, room = '']) => room))
  const others = Object.keys(mayImport).filter((room) => !room.startsWith('server/'))
  const folders = listFiles(root).flatMap((file) => /^server\/[\w-]+(?=\/)/.exec(file) ?? [])
  assert.deepEqual(rooms.toSorted(), [...new Set([...others, ...folders])].toSorted())
})

test('the log messages in docs/production.md are those of the server', () => {
  const source = globSync('server/**/*.ts', { cwd: root, exclude: ['**/node_modules'] })
    .map(read)
    .join('')
  const messages = [...read('docs/production.md').matchAll(/^\| \d0 \| `([^`]+)` \|/gm)].map(
    ([, text = '']) => text,
  )
  assert.ok(messages.length > 0)
  assert.deepEqual(
    messages.filter((message) => !source.includes(`'${message}'`)),
    [],
  )
})

describe('references to the specification', () => {
  const specification = 'docs/specification.md'
  const sections = [...read(specification).matchAll(/^## (.+)$/gm)].map(([, title = '']) => title)
  const protos = globSync('api/proto/platform/**/*.proto', { cwd: root })
  // This file is left out, because it contains the patterns that the tests look for.
  const sources = [...listFiles(root), ...protos, ...pages].filter((file) => !file.endsWith('links.test.ts'))

  test('name a section that exists', () => {
    const wrong = sources.flatMap((file) =>
      [...read(file).matchAll(/docs\/specification\.md,\s+(?:\/\/ |\* )?([^\n]*)/g)]
        .filter(([, text = '']) => !sections.some((title) => text.startsWith(title)))
        .map(([, text]) => `${file}: ${text}`),
    )
    assert.deepEqual(wrong, [])
  })

  test('contain its path, not the name SPEC', () => {
    assert.deepEqual(
      sources.filter((file) => /\bSPEC\b/.test(read(file))),
      [],
    )
  })
})
