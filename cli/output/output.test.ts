import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { parse } from 'yaml'
import { anyCodePoint } from '../../server/testing/arbitraries.ts'
import { commandOf, printedMessageOf } from '../contract/commands.ts'
import { ageOf } from './cells.ts'
import type { Format } from './format.ts'
import { createPrinter, printResource } from './printer.ts'
import type { Screen } from './screen.ts'
import { truncate, widthOf } from './text-width.ts'

const now = Date.parse('2026-01-31T12:00:00Z')
const message = printedMessageOf(commandOf('groups', 'list'))

async function printed(format: Format, pages: JsonObject[][], isTerminal = false): Promise<string> {
  let text = ''
  const unchanged = (words: string) => words
  const screen: Screen = {
    ...{ isTerminal, now, dim: unchanged, bold: unchanged },
    async write(chunk) {
      text += chunk
    },
  }
  const printer = createPrinter(format, message, screen)
  for (const page of pages) await printer.printPage(page)
  await printer.end()
  return text
}

const row = (name: string, uid: string): JsonObject => ({
  uid,
  name,
  description: '',
  createTime: '2026-01-31T09:00:00Z',
})

describe('a table', () => {
  test('has the column widths of its first page, and does not truncate longer cells of later pages', async () => {
    const text = await printed('table', [[row('ab', '1'), row('abcd', '2')], [row('abcdefgh', '3')]], true)
    assert.equal(
      text,
      'NAME  DESCRIPTION  AGE  UID\nab    -            3h   1\nabcd  -            3h   2\nabcdefgh  -            3h   3\n',
    )
  })
  test('shows times unchanged outside a terminal, and never shows control characters', async () => {
    const text = await printed('table', [[row('a\x1b[31m\nb', '1')]])
    assert.match(text, /2026-01-31T09:00:00Z/)
    assert.doesNotMatch(text, /\x1b/)
    assert.equal(text.split('\n').length, 3)
  })
  test('without rows prints nothing', async () => assert.equal(await printed('table', [[]]), ''))
})

describe('a list in any format', () => {
  const rows = fc.array(
    fc.record({ uid: fc.string(), name: fc.string({ unit: anyCodePoint }) }, { noNullPrototype: true }),
    { maxLength: 5 },
  )
  test('contains all rows of all pages', () =>
    fc.assert(
      fc.asyncProperty(fc.array(rows, { maxLength: 4 }), async (pages) => {
        assert.deepEqual(JSON.parse(await printed('json', pages)), pages.flat())
        const lines = (await printed('uid', pages)).split('\n').length - 1
        assert.ok(lines >= pages.flat().length)
      }),
    ))
  test('contains no control characters', () =>
    fc.assert(
      fc.asyncProperty(rows, async (page) => {
        for (const format of ['json', 'yaml', 'table'] as const)
          assert.doesNotMatch(
            await printed(format, [page.map(({ name }) => ({ uid: 'u', name }))]),
            /[\x00-\x08\x0b-\x1f\x7f-\x9f]/,
          )
      }),
    ))
  test('is one sequence in YAML', async () =>
    assert.deepEqual(parse(await printed('yaml', [[row('a', '1')], [row('b', '2')]])), [
      row('a', '1'),
      row('b', '2'),
    ]))
})

test('a readme is printed without its field name', async () => {
  let text = ''
  const screen = {
    ...{ isTerminal: false, now, dim: String, bold: String },
    async write(chunk: string) {
      text += chunk
    },
  }
  const command = commandOf('repos', 'readme')
  await printResource('table', printedMessageOf(command), { uid: 'u', content: '# a\n\nb' }, screen)
  assert.equal(text, '# a\n\nb\n')
})

test('an age is shown in its largest unit, in the past and in the future', () => {
  const ago = (milliseconds: number) => ageOf(new Date(now - milliseconds).toISOString(), now)
  assert.deepEqual([0, 5000, 65_000, 7_200_000, 86_400_000 * 3, 86_400_000 * 800, -7_200_000].map(ago), [
    '0s',
    '5s',
    '1m',
    '2h',
    '3d',
    '2y',
    'in 2h',
  ])
})

test('a truncated text is not wider than requested', () =>
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 20 }), (text, width) => {
      assert.ok(widthOf(truncate(text, width)) <= width)
    }),
  ))
