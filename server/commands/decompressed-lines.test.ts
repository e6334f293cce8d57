import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { decompressedLines } from './decompressed-lines.ts'

async function read(source: Readable): Promise<{ lines: string[]; error: Error | undefined }> {
  const lines: string[] = []
  try {
    for await (const line of decompressedLines(source)) lines.push(line)
  } catch (error) {
    return { lines, error: error as Error }
  }
  return { lines, error: undefined }
}

describe('the lines of a backup', () => {
  test('are decompressed', async () => {
    const { lines, error } = await read(Readable.from([gzipSync('a\nb\n')]))
    assert.deepEqual([lines, error], [['a', 'b'], undefined])
  })

  test('end with an error if the compressed data is damaged', async () => {
    const bytes = gzipSync('a\n'.repeat(10))
    for (const damaged of [bytes.subarray(0, -1), Buffer.from('no backup')]) {
      const { error } = await read(Readable.from([damaged]))
      assert.match(error?.message ?? '', /^this is not a backup of Stemma, or it is damaged$/)
    }
  })

  test('end with the error of the source', async () => {
    const source = Readable.from(
      (async function* () {
        yield gzipSync('a\n'.repeat(10)).subarray(0, 5)
        throw new Error('the disk failed')
      })(),
    )
    assert.equal((await read(source)).error?.message, 'the disk failed')
  })

  test('need not all be read, even if the unread ones are damaged', async () => {
    const bytes = gzipSync('a\n'.repeat(100_000), { level: 0 })
    const pieces = [bytes.subarray(0, 70_000), Buffer.alloc(1000, 255)]
    const source = Readable.from(pieces)
    for await (const line of decompressedLines(source)) {
      assert.equal(line, 'a')
      break
    }
    await new Promise(setImmediate)
  })

  test('are not kept in memory', async () => {
    const program = `import { Readable } from 'node:stream'
      import { createGzip } from 'node:zlib'
      import { decompressedLines } from ${JSON.stringify(import.meta.resolve('./decompressed-lines.ts'))}
      const line = Buffer.from('x'.repeat(2000) + '\\n')
      const source = Readable.from((function* () {
        for (let at = 0; at < 40_000; at++) yield line
      })())
      for await (const _ of decompressedLines(source.pipe(createGzip({ level: 1 }))));`
    const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
      resourceLimits: { maxOldGenerationSizeMb: 32 },
    })
    // Rejects with ERR_WORKER_OUT_OF_MEMORY if the 80 MB do not fit.
    assert.deepEqual(await once(thread, 'exit'), [0])
  })
})
