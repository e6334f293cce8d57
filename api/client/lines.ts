// JSON documents out of a stream, one on a line (https://jsonlines.org).
import type { JsonObject } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { readObject, StemmaError } from './errors.ts'

/** In characters: a document that is longer is none of ours. */
const longestLine = 2 ** 26

export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<JsonObject, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let parts: string[] = []
  let length = 0
  for await (const chunk of body) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    parts.push(first)
    length += first.length
    for (const next of others) {
      yield parse(parts.join(''))
      parts = [next]
      length = next.length
    }
    if (length > longestLine) throw broken('a document is too long')
  }
  if (length > 0) throw broken('the last document has no end')
}

function parse(line: string): JsonObject {
  const document = readObject(line)
  if (document) return document
  throw broken('a document is no JSON object')
}

const broken = (why: string) =>
  new StemmaError(Code.DATA_LOSS, `Data loss: the stream is not what it should be: ${why}`)
