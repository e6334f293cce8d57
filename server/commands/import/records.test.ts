import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { openRecords } from './records.ts'

const maxBytes = 64 * 1024 * 1024

describe('the records of an import', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stemma-records-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const textsOf = async (path: string) => {
    const texts: [string, string][] = []
    for await (const { file, text } of (await openRecords(path)).read())
      texts.push([file.slice(folder.length + 1), text])
    return texts
  }

  /** A sparse file, which takes no space on disk. */
  async function writeLarge(name: string, size: number, start = ''): Promise<string> {
    const file = join(folder, name)
    await mkdir(join(file, '..'), { recursive: true })
    await writeFile(file, start)
    await truncate(file, size)
    return file
  }

  test('are refused above 64 MiB, as a file, in a folder and as a line', async () => {
    for (const name of ['large.json', 'files/large.json', 'large.ndjson', 'lines.jsonl']) {
      const start = name === 'lines.jsonl' ? '{"id":1}\n' : ''
      const file = await writeLarge(name, maxBytes + start.length + 1, start)
      const path = name.startsWith('files/') ? join(folder, 'files') : file
      await assert.rejects(textsOf(path), /(?:large|lines)\.\w+ is larger than 67108864 bytes/, name)
    }
  })

  test('are refused above 64 MiB from a pipe, whose size is not known in advance', async () => {
    const file = join(folder, 'pipe')
    const [code] = await once(spawn('mkfifo', [file]), 'exit')
    assert.equal(code, 0)
    const writer = spawn('dd', ['if=/dev/zero', `of=${file}`, 'bs=1M', 'count=80'], { stdio: 'ignore' })
    await assert.rejects(textsOf(file), /pipe is larger than 67108864 bytes/)
    writer.kill()
  })

  test('may have exactly 64 MiB', async () => {
    const [[, text] = ['', '']] = await textsOf(await writeLarge('largest.json', maxBytes))
    assert.equal(text.length, maxBytes)
  })

  test('are the non-empty lines of a file, even if a line is read in several chunks', async () => {
    const long = `{"text":"${'äöü'.repeat(50_000)}"}`
    await writeFile(join(folder, 'some.ndjson'), `\n${long}\r\n\n{"id":2}\n${long}`)
    assert.deepEqual(await textsOf(join(folder, 'some.ndjson')), [
      ['some.ndjson, line 2', long],
      ['some.ndjson, line 4', '{"id":2}'],
      ['some.ndjson, line 5', long],
    ])
  })

  test('are the lines of standard input if the first line is JSON, and otherwise one document', async () => {
    const piped = async (input: string) => {
      const { read } = await openRecords('-', () => Readable.from([Buffer.from(input)]))
      return Array.fromAsync(read())
    }
    assert.deepEqual(await piped('{"id":1}\n\n{"id":2}'), [
      { file: 'standard input, line 1', text: '{"id":1}' },
      { file: 'standard input, line 3', text: '{"id":2}' },
    ])
    assert.deepEqual(await piped('{"id":1}'), [{ file: 'standard input, line 1', text: '{"id":1}' }])
    const document = JSON.stringify({ id: 1, aliases: ['a'] }, undefined, 2)
    assert.deepEqual(await piped(document), [{ file: 'standard input', text: document }])
  })
})
