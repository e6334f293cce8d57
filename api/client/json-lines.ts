import type { JsonObject } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { parseObject } from './json-object.ts'
import { StemmaError } from './stemma-error.ts'

/** In UTF-16 code units. Limits the memory that an invalid response can use. Valid documents are shorter. */
const maxLineLength = 2 ** 26

/**
 * Reads JSON objects from a stream with one object per line (https://jsonlines.org). Every line must end with a
 * newline. If the last line does not, the response was cut off, and the function throws an error.
 *
 * @example
 * ```ts
 * const response = await fetch('http://localhost:8080/vulnerabilities/v2beta1/advisories:osv')
 * if (response.body) for await (const document of readJsonLines(response.body)) console.log(document.id)
 * ```
 */
export async function* readJsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<JsonObject, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  /** Without a chunk, requires that no character is incomplete. */
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw dataLoss('a document is not valid UTF-8')
    }
  }
  let lineParts: string[] = []
  let lineLength = 0
  for await (const chunk of body) {
    const [continuation = '', ...nextLines] = decode(chunk).split('\n')
    lineParts.push(continuation)
    lineLength += continuation.length
    for (const nextLine of nextLines) {
      yield parseLine(lineParts.join(''))
      lineParts = [nextLine]
      lineLength = nextLine.length
    }
    if (lineLength > maxLineLength) throw dataLoss('a document is too long')
  }
  decode()
  if (lineLength > 0) throw dataLoss('the last document is cut off')
}

function parseLine(line: string): JsonObject {
  const document = parseObject(line)
  if (document) return document
  throw dataLoss('a document is not a JSON object')
}

const dataLoss = (reason: string) =>
  new StemmaError(Code.DATA_LOSS, `Data loss: the stream is invalid: ${reason}`)
