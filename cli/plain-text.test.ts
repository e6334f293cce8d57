import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { plainText } from './plain-text.ts'

describe('plain text', () => {
  test('has no sequence that changes the state of a terminal', () => {
    for (const sequence of [
      '\x1b]0;title\x07',
      '\x1b]52;c;aGk=\x07',
      '\x1b[2J',
      '\x9b2J',
      '\x1bc',
      '\x00',
      '\x7f',
    ])
      assert.match(plainText(`a${sequence}b`), /^a[^\x00-\x1f\x7f-\x9f]+b$/)
  })

  test('cannot overwrite the line that it is in', () => {
    assert.equal(plainText('yes\rno'), 'yes no')
    assert.equal(plainText('yes\x1b[1Ano'), 'yes [1Ano')
  })

  test('keeps line breaks, tabs, styles and the erasing of a progress line', () => {
    for (const text of ['a\nb\r\nc\td', '\x1b[1mbold\x1b[22m', '\x1b[2;31mred\x1b[m', '\r\x1b[K5 of 10'])
      assert.equal(plainText(text), text)
  })
})
