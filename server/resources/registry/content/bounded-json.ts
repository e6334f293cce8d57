// Parses JSON that anyone may have pushed. A few megabytes can contain millions of values, which would block the event
// loop for seconds and take a hundred times their size in memory. Real manifests and configurations have thousands.

/** Content that is not parsed. The message completes the sentence “the manifest is …”. */
export class UnreadableJson extends Error {}

export type JsonObject = Record<string, unknown>

const maxValues = 20_000
const maxDepth = 100
/** Smaller content is parsed in a few milliseconds, whatever it contains. */
const uncheckedBytes = 32 * 1024

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Throws `UnreadableJson`. */
export function parseJsonObject(content: Uint8Array): JsonObject {
  if (content.length > uncheckedBytes) requireSimple(content)
  const value = parse(content)
  if (isObject(value)) return value
  throw new UnreadableJson('not a JSON object')
}

function parse(content: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content))
  } catch {
    throw new UnreadableJson('not JSON in UTF-8')
  }
}

const [quote, backslash, comma, openList, closeList, openObject, closeObject] = Buffer.from('"\\,[]{}')

/** Counts values and levels without parsing. A byte of UTF-8 above 127 is never one of these characters. */
function requireSimple(content: Uint8Array): void {
  let [values, depth] = [0, 0]
  for (let at = 0; at < content.length; at++) {
    const byte = content[at]
    if (byte === quote) at = endOfText(content, at)
    else if (byte === comma) values++
    else if (byte === openList || byte === openObject) {
      values++
      if (++depth > maxDepth) throw new UnreadableJson(`nested more than ${maxDepth} levels deep`)
    } else if (byte === closeList || byte === closeObject) depth--
    if (values > maxValues) throw new UnreadableJson(`too complex: it has more than ${maxValues} values`)
  }
}

/** The position of the quotation mark that ends the text, which begins at `start`. */
function endOfText(content: Uint8Array, start: number): number {
  for (let at = start + 1; at < content.length; at++) {
    if (content[at] === backslash) at++
    else if (content[at] === quote) return at
  }
  return content.length
}
