// Reads a body of limited size into memory.
import { Code } from '../aip/code.ts'
import { cancelled } from '../aip/errors.ts'
import { registryError } from '../aip/registry-error.ts'
import { onClosed } from '../wire/on-closed.ts'
import type { Exchange, RegistryDependencies } from './door-context.ts'

/** `what` names the content in errors, such as `a manifest`. */
export async function readBody(
  { onBody, bodyBudget }: RegistryDependencies,
  { request, response, envelope }: Exchange,
  maxBytes: number,
  what: string,
): Promise<Buffer> {
  const tooLarge = () =>
    registryError('SIZE_INVALID', Code.INVALID_ARGUMENT, `${what} may have at most ${maxBytes} bytes`, {
      http: 413,
    })
  const length = Number(request.headers['content-length'] ?? maxBytes)
  if (length > maxBytes) throw tooLarge()
  // Reserved until the response is closed, because the endpoint keeps the body while it waits for the store.
  onClosed(response, bodyBudget.reserve(envelope.address, length))
  onBody(request, response)
  const chunks: Buffer[] = []
  let size = 0
  try {
    // If the loop destroyed the request, the rest of a body that is too large could not be skipped,
    // and a client that has not yet read the error would find the connection closed.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    throw size > maxBytes ? error : cancelled()
  }
  return Buffer.concat(chunks)
}
