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

const name = String.raw`@?[\w.][\w.-]*(?:\/[\w.-]+)?`
const version = '(?:@[^\\s`]+)?'
const flag = '-[^\\s`]+'

/** Matches commands that run a package, which they download if it is missing. The group is the name of the package. */
const runners = new RegExp(
  String.raw`\b(?:npx|npm (?:exec|create|init)|pnpm dlx|yarn dlx|bunx)(?: +${flag})* +(${name})`,
  'g',
)

/** Matches commands that install packages. The group contains their names, and flags. */
const installers = new RegExp(
  String.raw`\b(?:npm (?:install|i|add)|pnpm add|yarn add)((?: +(?:${flag}|${name}${version}))+)`,
  'g',
)

function namesIn(text: string): string[] {
  const run = [...text.matchAll(runners)].map(([, found = '']) => found)
  const installed = [...text.matchAll(installers)].flatMap(([, found = '']) => found.trim().split(/ +/))
  const packages = installed.filter((word) => !word.startsWith('-'))
  return [...run, ...packages.map((word) => word.replace(/(?<=.)@.*/, ''))]
}

const foreignNamesIn = (text: string) => namesIn(text).filter((found) => !allowedNames.has(found))

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
  assert.deepEqual(foreignNamesIn(text), ['stemma', 'stemmad', '@evil/cli', 'stemma'])
})

test('every package of a command that installs several is checked', () => {
  const text = 'npm install jose@6 evil; npm i -D jose --save-exact @evil/tool; `yarn add jose bad` and more'
  assert.deepEqual(foreignNamesIn(text), ['evil', '@evil/tool', 'bad'])
})
