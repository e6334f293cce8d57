// Reads the JSON body of a request.
import type { IncomingMessage } from 'node:http'
import { cancelled } from '../aip/errors.ts'
import { badRequest, ScimError } from './errors.ts'
import { maxBodyBytes } from './limits.ts'
import type { Resource } from './schema/schema.ts'

const types = new Set(['application/scim+json', 'application/json'])

export async function readBody(request: IncomingMessage): Promise<Resource> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';', 1)
  if (!types.has(type.trim().toLowerCase()))
    throw new ScimError(415, 'the Content-Type must be application/scim+json or application/json')
  const text = await readText(request)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw badRequest('invalidSyntax', 'the body must be JSON')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest('invalidSyntax', 'the body must be a JSON object')
  return body as Resource
}

async function readText(request: IncomingMessage): Promise<string> {
  const tooLarge = () => new ScimError(413, `the body must be at most ${maxBodyBytes} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  try {
    // The request is not destroyed when reading stops early, so that the error can still be sent.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += chunk.length
      if (size > maxBodyBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    // The request itself fails only if the client disconnects.
    throw size > maxBodyBytes ? error : cancelled()
  }
  const bytes = Buffer.concat(chunks)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw badRequest('invalidSyntax', 'the body must be in UTF-8')
  }
}
