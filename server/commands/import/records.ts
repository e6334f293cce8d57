// The records that an import reads: in files, folders, zip archives and what is piped in, one after the other, so
// that memory holds a few at a time.
import type { Dirent } from 'node:fs'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer, text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Entry, ZipFile } from 'yauzl'
import yauzl from 'yauzl'
import { UsageError } from '../command.ts'

export type Found = {
  /** Where it stands, to be told. */
  file: string
  text: string
}

/** What is to be read, and how many records there are, if that is known beforehand. */
export type Records = { count: number | undefined; read(): AsyncGenerator<Found> }

/** Larger ones are no records. */
const largest = 64 * 1024 * 1024
/** Read ahead, so that the disk and the store work at the same time. */
const ahead = 16

export async function recordsIn(path: string): Promise<Records> {
  if (path === '-') return { count: undefined, read: () => piped() }
  const about = await stat(path).catch((error: Error) => {
    throw new UsageError(error.message)
  })
  if (about.isDirectory()) return folder(path)
  if (path.endsWith('.zip')) return archive(path)
  if (/\.(?:ndjson|jsonl)$/.test(path))
    return { count: undefined, read: () => lines(path, createReadStream(path)) }
  return { count: 1, read: () => one(path) }
}

async function* one(file: string): AsyncGenerator<Found> {
  yield { file, text: await readFile(file, 'utf8') }
}

async function folder(path: string): Promise<Records> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const isRecord = (entry: Dirent) => entry.isFile() && entry.name.endsWith('.json')
  const files = entries.filter(isRecord).map(({ parentPath, name }) => join(parentPath, name))
  return { count: files.length, read: () => inOrder(files.sort()) }
}

async function* inOrder(files: readonly string[]): AsyncGenerator<Found> {
  const pending: Promise<Found>[] = []
  const read = async (file: string) => ({ file, text: await readFile(file, 'utf8') })
  for (const file of files) {
    pending.push(read(file))
    if (pending.length >= ahead) yield await (pending.shift() as Promise<Found>) // there are many
  }
  for (const found of pending) yield await found
}

async function archive(path: string): Promise<Records> {
  const open = promisify<string, yauzl.Options, ZipFile>(yauzl.open)
  const zip = await open(path, { lazyEntries: true, autoClose: false }).catch((error: Error) => {
    throw new UsageError(`${path}: ${error.message}`)
  })
  return { count: zip.entryCount, read: () => unpacked(path, zip) }
}

async function* unpacked(path: string, zip: ZipFile): AsyncGenerator<Found> {
  try {
    for await (const entry of zip.eachEntry()) {
      if (!entry.fileName.endsWith('.json')) continue
      const file = `${path}:${entry.fileName}`
      yield { file, text: await textOf(zip, entry, file) }
    }
  } finally {
    zip.close()
  }
}

async function textOf(zip: ZipFile, entry: Entry, file: string): Promise<string> {
  if (entry.uncompressedSize > largest) throw new UsageError(`${file} is larger than ${largest} bytes`)
  const stream = await zip.openReadStreamPromise(entry)
  return (await buffer(stream)).toString()
}

/** One document, or one a line. */
async function* piped(): AsyncGenerator<Found> {
  const [first, rest] = await firstLine()
  if (!isJson(first)) {
    yield { file: 'standard input', text: `${first}\n${await text(rest)}` }
    return
  }
  yield { file: 'standard input, line 1', text: first }
  yield* lines('standard input', rest, 2)
}

async function firstLine(): Promise<[string, NodeJS.ReadStream]> {
  const chunks: string[] = []
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk)
    if (chunk.includes('\n')) break
    if (chunks.join('').length > largest)
      throw new UsageError(`what is piped in has a line of more than ${largest} bytes`)
  }
  const [line = '', ...more] = chunks.join('').split('\n')
  if (more.length > 0) process.stdin.unshift(more.join('\n'))
  return [line, process.stdin]
}

async function* lines(file: string, stream: NodeJS.ReadableStream, from = 1): AsyncGenerator<Found> {
  let number = from
  for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() !== '') yield { file: `${file}, line ${number}`, text: line }
    number++
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
