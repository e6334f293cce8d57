// Limits the size of the resources that are stored.
import type { DescMessage } from '@bufbuild/protobuf'
import { invalidField } from '../aip/errors.ts'

/**
 * The maximum size of the JSON of a resource, in bytes. Lists end a page at 4 MiB
 * (server/store/list/large-rows.ts), so every resource fits into a page. The body of a REST request
 * is also limited to 1 MiB, but a gRPC request can be larger, and the JSON of a resource can be six
 * times as long as its message.
 */
export const maxResourceBytes = 1024 * 1024

export function requireStorable(desc: DescMessage, json: string): void {
  // A UTF-16 code unit has at most three bytes in UTF-8, so short JSON need not be measured.
  if (json.length * 3 <= maxResourceBytes) return
  const bytes = Buffer.byteLength(json)
  if (bytes > maxResourceBytes)
    throw invalidField(
      largestField(desc, json),
      `is too large: the resource must have at most ${maxResourceBytes} bytes as JSON, and has ${bytes}`,
    )
}

/** The name of the field that takes the most space. */
function largestField(desc: DescMessage, json: string): string {
  const sizes = Object.entries(JSON.parse(json)).map(([key, value]) => ({
    key,
    size: JSON.stringify(value).length,
  }))
  const largest = sizes.reduce((a, b) => (b.size > a.size ? b : a))
  return desc.fields.find(({ jsonName }) => jsonName === largest.key)?.name ?? largest.key
}
