import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseJsonObject, UnreadableJson } from './bounded-json.ts'

const parse = (content: string | Uint8Array) => parseJsonObject(Buffer.from(content))

describe('pushed JSON', () => {
  test('is read if it is large but simple', () => {
    const value = { text: '["\\{,'.repeat(200_000), list: Array(15_000).fill('é') }
    assert.deepEqual(parse(JSON.stringify(value)), value)
  })

  test('is refused if it has too many values or levels, or is not a JSON object', () => {
    const notUtf8 = Buffer.from('{"a":"\xff"}', 'latin1')
    const padding = JSON.stringify('x'.repeat(64 * 1024))
    const refused: [content: string | Uint8Array, message: RegExp][] = [
      [`{"a":${padding},"b":${'['.repeat(101)}`, /nested more than 100 levels/],
      [`{"a":${padding},"b":[${'1,'.repeat(20_001)}`, /more than 20000 values/],
      [`{"a":${padding},"b":[${'{}'.repeat(20_001)}`, /more than 20000 values/],
      [`{"a":${padding},"b":"\\"`, /not JSON/],
      ['[]', /not a JSON object/],
      [notUtf8, /not JSON/],
    ]
    for (const [content, message] of refused)
      assert.throws(
        () => parse(content),
        (error) => error instanceof UnreadableJson && message.test(error.message),
        String(message),
      )
  })
})
