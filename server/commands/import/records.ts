// The records that an import reads: in files, folders, zip archives and what is piped in, one after the other, so
// that memory holds a few at a time.
import { createReadStream, opendirSync, readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
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

function folder(path: string): Records {
  const files = filesIn(path).sort()
  return { count: files.length, read: () => inOrder(files) }
}

/** The names alone are kept of what may be very many. */
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

/** This thread has nothing else to do, and waiting for each file would take longer than reading it. */
async function* inOrder(files: readonly string[]): AsyncGenerator<Found> {
  for (const file of files) yield { file, text: readFileSync(file, 'utf8') }
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

/** One document, or one a line: the first line tells, by being one or not. */
async function* piped(): AsyncGenerator<Found> {
  const document: string[] = []
  let isLines: boolean | undefined
  let size = 0
  for await (const found of lines('standard input', createReadStream('', { fd: 0 }))) {
    isLines ??= isJson(found.text)
    if (isLines) yield found
    else {
      document.push(found.text)
      size += found.text.length
      if (size > largest) throw new UsageError(`what is piped in is larger than ${largest} bytes`)
    }
  }
  if (document.length > 0) yield { file: 'standard input', text: document.join('\n') }
}

async function* lines(file: string, stream: NodeJS.ReadableStream): AsyncGenerator<Found> {
  let number = 1
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
