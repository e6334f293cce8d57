import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { readJsonLines } from './json-lines.ts'
import { StemmaError } from './stemma-error.ts'

const read = (...chunks: (string | Uint8Array)[]) =>
  Array.fromAsync(readJsonLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk)))))

describe('JSON lines', () => {
  test('are read, whichever chunks they arrive in', async () => {
    assert.deepEqual(await read('{"a":1}\n{"b"', ':"é"}\n'), [{ a: 1 }, { b: 'é' }])
  })

  test('that are cut off, not JSON objects or not UTF-8 fail with DATA_LOSS', async () => {
    for (const invalid of [
      '{"a":1}',
      '[]\n',
      'x\n',
      Buffer.from('{"a":"\xff"}\n', 'latin1'),
      Buffer.from([0xc3]),
    ])
      await assert.rejects(
        read('{"a":1}\n', invalid),
        (error) => error instanceof StemmaError && error.code === Code.DATA_LOSS,
      )
  })
})
