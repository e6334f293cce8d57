// Reads the body of a request as a JSON object (AuthZEN 1.0 section 10.1.1).
import type { IncomingMessage, ServerResponse } from 'node:http'
import { malformed } from '../../aip/errors.ts'
import { hasDuplicateMembers } from '../../wire/duplicate-members.ts'
import { readText } from '../rest/body.ts'

export type JsonObject = { readonly [name: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A content type other than application/json is answered with 400: AuthZEN has no status 415. */
export async function readObject(request: IncomingMessage, response: ServerResponse): Promise<JsonObject> {
  if (!jsonType.test(request.headers['content-type'] ?? ''))
    throw malformed('the Content-Type must be application/json')
  return parseObject(await readText(request, response))
}

const jsonType = /^application\/json\s*(?:;|$)/i

export function parseObject(text: string): JsonObject {
  const value = parse(text)
  if (!isObject(value)) throw malformed('the body must be a JSON object')
  // I-JSON (RFC 7493 section 2.3). Otherwise a proxy and this server could read different subjects.
  if (hasDuplicateMembers(text))
    throw malformed('the body contains an object with two members of the same name')
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed(text.trim() === '' ? 'the body must not be empty' : 'the body must be JSON')
  }
}
