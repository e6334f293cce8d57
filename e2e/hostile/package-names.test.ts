// Commands that pages, docs and messages recommend must not install the package of an attacker. `npx NAME` downloads
// the package NAME if it is not installed, so every name must be one that nobody else can register: one of our packages,
// a dependency that we pin, or a package that we checked.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const skippedNames = new Set(['node_modules', '.git', 'dist', 'data', 'e2e'])
const isText = /\.(?:md|tsx?|mjs|proto|ya?ml|json|sh|html|cfg)$|^Dockerfile$/

function* textFiles(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (skippedNames.has(entry.name) || entry.name === 'package-lock.json') continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* textFiles(path)
    else if (isText.test(entry.name)) yield path
  }
}

const manifestOf = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

const { workspaces, devDependencies } = manifestOf('.')

/** Published packages of others that the docs recommend: for generated clients, and for receivers of events. */
const recommendedNames = ['openapi-fetch', 'openapi-typescript', 'jose']

/** The recommended packages, our packages, and the development dependencies, which the lock file pins. */
const allowedNames = new Set<string>([
  ...recommendedNames,
  ...workspaces.map((folder: string) => manifestOf(folder).name),
  ...Object.keys(devDependencies),
])

/** Matches commands that install a missing package from the registry. The groups are the flags and the package name. */
const installers =
  /\b(?:npx|npm (?:exec|install|i|add|create|init)|pnpm (?:dlx|add)|yarn (?:dlx|add)|bunx)((?: +-[^\s`]+)*)((?: +@?[\w.-]+(?:\/[\w.-]+)?)?)/g

const namesIn = (text: string) =>
  [...text.matchAll(installers)].map(([, , name = '']) => name.trim()).filter((name) => name !== '')

test('every package that a recommended command installs is ours, a pinned dependency or one that we checked', () => {
  const uses = [...textFiles(root)].flatMap((file) =>
    namesIn(readFileSync(file, 'utf8')).map((name) => ({ file: relative(root, file), name })),
  )
  const foreign = uses.filter(({ name }) => !allowedNames.has(name))
  assert.deepEqual(foreign, [])
  const files = new Set(uses.map(({ file }) => file))
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
