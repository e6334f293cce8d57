// Runs the shell blocks of the documentation literally. Pages that start no server share one.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { after, before, describe, test } from 'node:test'
import { createDatabase } from '../../server/testing/postgres.ts'
import { bundledProgram } from '../cli/bundled-program.ts'
import type { Outcome, Server, Shell } from './page-shell.ts'
import { noShell, openShell } from './page-shell.ts'
import type { Block } from './pages.ts'
import { blocksOf, commandsOf, inBackground, isExpected } from './pages.ts'

const root = join(import.meta.dirname, '../..')
const clusterUrl = process.env.STEMMA_TEST_POSTGRES
/** Ends a run that hangs. A busy machine needs minutes. */
const timeoutMs = 15 * 60_000

const pages = globSync('{README.md,docs/**/*.md}', { cwd: root })
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))
  .map((page) => ({ ...page, blocks: blocksOf(page.text) }))
  .filter(({ blocks }) => blocks.length > 0)
type Page = (typeof pages)[number]

/** Generated pages show calls one by one, with placeholders for the reader's values. */
const isGenerated = ({ text }: Page) => text.startsWith('<!-- Generated')
const startsServer = ({ source, needs }: Block) => !needs && inBackground(source) !== source

describe('the pages', { concurrency: 2, timeout: timeoutMs, skip: noShell }, () => {
  let cli: string
  let serving: Shell
  before(async () => {
    cli = await bundledProgram()
    serving = await openShell('')
    const { isSuccess, output } = await serving.run('npx @stemma/server serve', 1)
    assert.ok(isSuccess, output)
  })
  after(() => serving.close())

  for (const page of pages.filter((each) => !isGenerated(each)))
    test(page.name, (t) => runPage(t, page, serving.server, cli))

  test('of the reference show calls that are served', async () => {
    const generated = pages.filter(isGenerated)
    assert.ok(generated.length > 0)
    for (const { name, blocks } of generated) await tryCalls(serving, name, blocks)
  })
})

async function runPage(
  t: TestContext,
  { name, text, blocks }: Page,
  shared: Server,
  cli: string,
): Promise<void> {
  const wantsDatabase = text.includes('@db.example.com')
  const database = wantsDatabase && clusterUrl ? await createDatabase(clusterUrl) : undefined
  const server = blocks.some(startsServer) ? undefined : shared
  const shell = await openShell(text, { databaseUrl: database?.url, server, cli })
  try {
    await runBlocks(t, shell, name, blocks, wantsDatabase && !database)
  } finally {
    await shell.close()
    await database?.drop()
  }
}

async function runBlocks(
  t: TestContext,
  shell: Shell,
  name: string,
  blocks: Block[],
  isDatabaseMissing: boolean,
): Promise<void> {
  let hasFailed = false
  for (const block of blocks) {
    const skip = reasonToSkip(block, hasFailed, isDatabaseMissing)
    await t.test(`${name}:${block.line}`, { skip }, async () => {
      hasFailed = true // remains true if the block throws
      await runBlock(shell, name, block)
      hasFailed = false
    })
  }
}

function reasonToSkip({ needs, tool, source }: Block, hasFailed: boolean, isDatabaseMissing: boolean) {
  if (needs) return `needs ${needs}`
  if (tool && spawnSync(tool, ['--help']).error) return `${tool} is not installed`
  if (hasFailed) return 'an earlier block of the page failed'
  return isDatabaseMissing && source.includes('@db.example.com') ? 'PostgreSQL is not running' : false
}

async function runBlock(shell: Shell, name: string, block: Block): Promise<void> {
  const answers: string[] = []
  let output = ''
  for (const { line, source, expected } of commandsOf(block)) {
    const outcome = await shell.run(source, line)
    output += outcome.output
    assert.ok(outcome.isSuccess, `${name}:${line} failed:\n${outcome.output}`)
    if (expected?.trim())
      assert.ok(
        isExpected(expected, outcome.output),
        `${name}:${line} shows\n${expected}but the output is\n${outcome.output}`,
      )
    answers.push(...outcome.answers)
  }
  const errors = answers.filter(isError).sort()
  const message = `${name}:${block.line} got errors other than those in the comment \`answers\` before it:\n${output}`
  assert.deepEqual(errors, block.answers.map(String).sort(), message)
}

const isError = (answer: string) => !/^[23]\d\d$/.test(answer)

/** Checks that the server has a route for each call. Most calls are refused, because they have no token. */
async function tryCalls(shell: Shell, name: string, blocks: Block[]): Promise<void> {
  for (const { line, source, needs } of blocks) {
    if (needs) continue
    const variables = new Set([...source.matchAll(/\$\{?([A-Z_]+)/g)].map(([, variable]) => variable))
    const assignments = [...variables].map((variable) => `${variable}=${'0'.repeat(40)}; `).join('')
    const outcome: Outcome = await shell.run(assignments + source, line)
    const text = `${name}:${line} answers ${outcome.answers}:\n${outcome.output}`
    assert.ok(outcome.isSuccess && outcome.answers.length > 0, text)
    assert.ok(
      outcome.answers.every((answer) => /^[24]\d\d$/.test(answer)),
      text,
    )
    assert.doesNotMatch(outcome.output, /no such path|method not allowed/, text)
  }
}
