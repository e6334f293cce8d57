// Reads the records of an import one by one, from files, folders, zip archives and standard input.
import {
  closeSync,
  createReadStream,
  fstatSync,
  opendirSync,
  openSync,
  readFileSync,
  readSync,
} from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Entry, ZipFile } from 'yauzl'
import yauzl from 'yauzl'
import { UsageError } from '../command.ts'

/** The text of one record. `file` names its source in messages, such as `a.ndjson, line 2`. */
export type SourceText = { file: string; text: string }

/** `total` is the number of records, if it is known in advance. In a zip archive, it also counts other entries. */
export type Records = { total: number | undefined; read(): AsyncGenerator<SourceText> }

/** The maximum size of a record from any source, as a protection against zip bombs. Real records are far smaller. */
const maxBytes = 64 * 1024 * 1024

const tooLarge = (file: string) => new UsageError(`${file} is larger than ${maxBytes} bytes`)

const openStandardInput = (): AsyncIterable<Buffer> => createReadStream('', { fd: 0 })

/** `path` is a file, a folder, a zip archive or `-` for standard input. */
export async function openRecords(path: string, openInput = openStandardInput): Promise<Records> {
  if (path === '-') return { total: undefined, read: () => readStandardInput(openInput()) }
  const stats = await stat(path).catch((error: Error) => {
    throw new UsageError(error.message)
  })
  if (stats.isDirectory()) return openFolder(path)
  if (path.endsWith('.zip')) return openArchive(path)
  if (/\.(?:ndjson|jsonl)$/.test(path))
    return { total: undefined, read: () => readLines(path, createReadStream(path)) }
  return { total: 1, read: () => readFiles([path]) }
}

function openFolder(path: string): Records {
  const files = filesIn(path).sort()
  return { total: files.length, read: () => readFiles(files) }
}

function filesIn(folder: string, files: string[] = []): string[] {
  const entries = opendirSync(folder, { bufferSize: 1024 })
  for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) filesIn(path, files)
    else if (entry.isFile() && entry.name.endsWith('.json')) files.push(path)
  }
  entries.closeSync()
  return files
}

/** Reads synchronously: this thread has nothing else to do, and awaiting each small file takes longer than reading it. */
async function* readFiles(files: readonly string[]): AsyncGenerator<SourceText> {
  for (const file of files) yield { file, text: readBounded(file) }
}

function readBounded(file: string): string {
  const descriptor = openSync(file, 'r')
  try {
    const stats = fstatSync(descriptor)
    if (stats.size > maxBytes) throw tooLarge(file)
    return stats.isFile() ? readFileSync(descriptor, 'utf8') : readPipe(file, descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The size of a pipe or device is not known in advance. */
function readPipe(file: string, descriptor: number): string {
  const chunks: Buffer[] = []
  for (let size = 0; ; ) {
    const chunk = Buffer.alloc(64 * 1024)
    const length = readSync(descriptor, chunk)
    if (length === 0) return Buffer.concat(chunks).toString()
    chunks.push(chunk.subarray(0, length))
    size += length
    if (size > maxBytes) throw tooLarge(file)
  }
}

async function openArchive(path: string): Promise<Records> {
  const open = promisify<string, yauzl.Options, ZipFile>(yauzl.open)
  const zip = await open(path, { lazyEntries: true, autoClose: false }).catch((error: Error) => {
    throw new UsageError(`${path}: ${error.message}`)
  })
  return { total: zip.entryCount, read: () => readArchive(path, zip) }
}

async function* readArchive(path: string, zip: ZipFile): AsyncGenerator<SourceText> {
  try {
    for await (const entry of zip.eachEntry()) {
      if (!entry.fileName.endsWith('.json')) continue
      const file = `${path}:${entry.fileName}`
      yield { file, text: await readEntry(zip, entry, file) }
    }
  } finally {
    zip.close()
  }
}

async function readEntry(zip: ZipFile, entry: Entry, file: string): Promise<string> {
  if (entry.uncompressedSize > maxBytes) throw tooLarge(file)
  const stream = await zip.openReadStreamPromise(entry)
  return (await buffer(stream)).toString()
}

/** Standard input contains one JSON document, or one per line if the first line is valid JSON by itself. */
async function* readStandardInput(input: AsyncIterable<Buffer>): AsyncGenerator<SourceText> {
  const document: string[] = []
  let hasDocumentPerLine: boolean | undefined
  let size = 0
  for await (const line of readLines('standard input', input)) {
    hasDocumentPerLine ??= isJson(line.text)
    if (hasDocumentPerLine) yield line
    else {
      document.push(line.text)
      size += Buffer.byteLength(line.text) + 1 // the line feed
      if (size > maxBytes) throw tooLarge('standard input')
    }
  }
  if (document.length > 0) yield { file: 'standard input', text: document.join('\n') }
}

async function* readLines(file: string, stream: AsyncIterable<Buffer>): AsyncGenerator<SourceText> {
  let lineNumber = 1
  for await (const line of splitLines(file, stream)) {
    const text = line.toString().replace(/\r$/, '')
    if (text.trim() !== '') yield { file: `${file}, line ${lineNumber}`, text }
    lineNumber++
  }
}

const lineFeed = 10

/** Throws if a line is longer than `maxBytes`. node:readline would collect a line of any length. */
async function* splitLines(file: string, stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  /** The parts of the current line, one from each chunk that contains a part of it. */
  let parts: Buffer[] = []
  let size = 0
  const add = (part: Buffer) => {
    parts.push(part)
    size += part.length
    if (size > maxBytes) throw tooLarge(`a line of ${file}`)
  }
  for await (const chunk of stream) {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      add(chunk.subarray(start, end))
      yield Buffer.concat(parts)
      ;[parts, size, start] = [[], 0, end + 1]
    }
    add(chunk.subarray(start))
  }
  yield Buffer.concat(parts)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
