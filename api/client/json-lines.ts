import type { JsonObject } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { parseObject } from './json-object.ts'
import { StemmaError } from './stemma-error.ts'

/** In UTF-16 code units. Limits the memory for an invalid response; no document of the server is this long. */
const maxLineLength = 2 ** 26

/**
 * Reads JSON objects from a stream with one object per line (https://jsonlines.org). Every line, also the last, must
 * end with a newline: a response that was cut off is an error.
 *
 * @example
 * ```ts
 * const response = await fetch('http://localhost:8080/vulnerabilities/v2beta1/advisories:osv')
 * if (response.body) for await (const document of readJsonLines(response.body)) console.log(document.id)
 * ```
 */
export async function* readJsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<JsonObject, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let parts: string[] = []
  let length = 0
  for await (const chunk of body) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    parts.push(first)
    length += first.length
    for (const next of others) {
      yield parseLine(parts.join(''))
      parts = [next]
      length = next.length
    }
    if (length > maxLineLength) throw dataLoss('a document is too long')
  }
  if (length > 0) throw dataLoss('the last document is cut off')
}

function parseLine(line: string): JsonObject {
  const document = parseObject(line)
  if (document) return document
  throw dataLoss('a document is not a JSON object')
}

const dataLoss = (reason: string) =>
  new StemmaError(Code.DATA_LOSS, `Data loss: the stream is invalid: ${reason}`)
