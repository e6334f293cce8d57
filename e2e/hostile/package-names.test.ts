// Commands that pages, docs and messages recommend. `npx NAME` installs a package of that name if the folder has none,
// so every name must be one that a stranger cannot register: one of our packages, a dependency that we pin,
// or a package that we checked.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const skipped = new Set(['node_modules', '.git', 'dist', 'data', 'e2e'])
const isText = /\.(?:md|ts|mjs|proto|ya?ml|json|sh|html|cfg)$|^Dockerfile$/

function* textFiles(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (skipped.has(entry.name) || entry.name === 'package-lock.json') continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* textFiles(path)
    else if (isText.test(entry.name)) yield path
  }
}

const manifestOf = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

const { workspaces, devDependencies } = manifestOf('.')

/** Published packages of others that the docs recommend for generated clients. */
const recommendedNames = ['openapi-fetch', 'openapi-typescript']

/** Also the names of our packages, and those of the packages that the lock file pins for the repository itself. */
const allowedNames = new Set<string>([
  ...recommendedNames,
  ...workspaces.map((folder: string) => manifestOf(folder).name),
  ...Object.keys(devDependencies),
])

/** Commands that install a package of the registry if it is missing, up to the first word that is no flag. */
const installers =
  /\b(?:npx|npm (?:exec|install|i|add|create|init)|pnpm (?:dlx|add)|yarn (?:dlx|add)|bunx)((?: +-[^\s`]+)*)((?: +@?[\w.-]+(?:\/[\w.-]+)?)?)/g

const namesIn = (text: string) =>
  [...text.matchAll(installers)].map(([, , name = '']) => name.trim()).filter((name) => name !== '')

test('every package that a page, a message or the docs name is ours, a pinned dependency or one that we checked', () => {
  const found = [...textFiles(root)].flatMap((file) =>
    namesIn(readFileSync(file, 'utf8')).map((name) => ({ file: relative(root, file), name })),
  )
  const foreign = found.filter(({ name }) => !allowedNames.has(name))
  assert.deepEqual(foreign, [])
  const files = new Set(found.map(({ file }) => file))
  for (const file of ['README.md', 'cli/README.md', 'server/pages/set-up.ts', 'server/commands/serve.ts'])
    assert.ok(files.has(file), `${file} names no package: the pattern of this test is wrong`)
})

test('the names of our packages are in one scope', () => {
  for (const folder of ['api', 'server', 'cli']) assert.match(manifestOf(folder).name, /^@stemma\//)
})

test('an unscoped name and one of another scope are recognised as foreign', () => {
  const text =
    'npx stemma auth login; npx --yes stemmad; npm install -g stemma; npx @stemma/cli; npx @evil/cli'
  const foreign = namesIn(text).filter((name) => !allowedNames.has(name))
  assert.deepEqual(foreign, ['stemma', 'stemmad', 'stemma', '@evil/cli'])
})
