// Tests of the page runner itself: it must notice failures.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Outcome } from './page-shell.ts'
import { noShell, openShell } from './page-shell.ts'
import { blocksOf, commandsOf, inBackground, isExpected } from './pages.ts'

const fence = '```'
const page = `# A page

<!-- needs: docker -->
${fence}sh
docker ps
${fence}

${fence}json
{}
${fence}

<!-- answers: 400 412 -->

${fence}bash
one
two
${fence}

<!-- needs: ignored, because text follows before the next block -->
Words.

- in a list
  ${fence}console
  $ first \\
    more
  output
  $ second
  ${fence}
`

describe('the blocks of a page', () => {
  test('are the shell blocks, with the comments before them and their line numbers', () => {
    const plain = { isConsole: false, needs: undefined, tool: undefined, answers: [] }
    assert.deepEqual(blocksOf(page), [
      { ...plain, line: 5, source: 'docker ps', needs: 'docker' },
      { ...plain, line: 15, source: 'one\ntwo', answers: [400, 412] },
      { ...plain, line: 24, source: '$ first \\\n  more\noutput\n$ second', isConsole: true },
    ])
    assert.throws(() => blocksOf(`${fence}sh\nx`), /line 1 has no end/)
  })

  test('contain commands with their output if their language is console', () => {
    assert.deepEqual(blocksOf(page).slice(2).flatMap(commandsOf), [
      { line: 24, source: 'first \\\n  more', expected: 'output\n' },
      { line: 27, source: 'second', expected: '' },
    ])
  })

  test('may contain "…" in place of output that varies', () => {
    assert.ok(isExpected('{"uid":"…","n":1}\n', '{"uid":"a/b","n":1}\n\n'))
    assert.ok(!isExpected('{"uid":"…","n":1}', '{"uid":"a/b","n":2}'))
    assert.ok(!isExpected('a.c', 'abc'))
  })

  test('start servers in the background, and the line numbers of commands stay the same', () => {
    const source = `# npm start, later\nnpm ci && npm start   # serves\nPORT=8081 A='b c' \\\n  npx @stemma/server serve\nls`
    assert.equal(
      inBackground(source),
      `# npm start, later\nin_background "$PORT" <<< 'npm start'\nin_background 8081 <<< 'PORT=8081 A='\\''b c'\\'' \\\n  npx @stemma/server serve'\nls`,
    )
  })
})

describe('the shell of a page', { skip: noShell }, () => {
  const inShell = async (...sources: string[]): Promise<Outcome[]> => {
    const shell = await openShell(sources.join('\n'))
    const outcomes: Outcome[] = []
    try {
      for (const source of sources) outcomes.push(await shell.run(source, 7))
    } finally {
      await shell.close()
    }
    return outcomes
  }

  test('keeps variables for the next block and reports every kind of failure', async () => {
    const [, kept] = await inShell('A=1; f() { echo "$A"; }', 'f')
    assert.deepEqual(kept, { isSuccess: true, output: '1\n', answers: [] })
    for (const failing of ['true\nfalse', 'true\nX=$(false | cat)', 'true\necho "$UNSET"']) {
      const [outcome] = await inShell(failing)
      assert.equal(outcome?.isSuccess, false, failing)
      assert.match(outcome?.output ?? '', /line 8/, failing)
    }
  })

  test('reports calls that cannot connect', async () => {
    const [outcome] = await inShell('curl -s http://localhost:8080/ || true')
    assert.deepEqual(outcome?.answers, ['curl ended with 7'])
  })
})
