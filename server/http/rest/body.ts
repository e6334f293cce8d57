// Reads a request body within its limits.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cancelled, malformed, tooLarge } from '../../aip/errors.ts'
import { requireNoContentEncoding } from '../request-head.ts'

const maxBodyBytes = 1024 * 1024

const jsonType = /^(?:application\/json|text\/json|application\/[a-z0-9.+-]+\+json)$/
const formType = 'application/x-www-form-urlencoded'

const contentTypeOf = (request: IncomingMessage) =>
  (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

export const isForm = (request: IncomingMessage) => contentTypeOf(request) === formType
export const isJson = (request: IncomingMessage) => jsonType.test(contentTypeOf(request))

/**
 * Accepts JSON with a JSON content type, without a content type, and with the content type of a form, which `curl -d`
 * sends.
 */
export async function readJsonText(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes = maxBodyBytes,
): Promise<string> {
  const type = contentTypeOf(request)
  if (type !== '' && type !== formType && !jsonType.test(type)) throw unsupported()
  const body = await readText(request, response, maxBytes)
  if (type === formType && !/^\s*(\{|$)/.test(body)) throw unsupported()
  return body
}

const unsupported = () => malformed('the body must be JSON, sent with Content-Type: application/json', 415)

export async function readText(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes = maxBodyBytes,
): Promise<string> {
  if (request.readableEnded) return ''
  // A destroyed request emits no further events, not even for bytes that have arrived.
  if (request.destroyed) throw cancelled()
  requireNoContentEncoding(request)
  if (announcedBytes(request) > maxBytes) throw oversized(maxBytes)
  if (awaitsContinue(request)) sendContinue(request, response)
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else reject(oversized(maxBytes))
    })
    request.on('end', () => {
      try {
        resolve(utf8.decode(Buffer.concat(chunks)))
      } catch {
        reject(malformed('the body is not well-formed UTF-8'))
      }
    })
    // While a body is read, the only possible error is that the client has closed the connection.
    request.on('error', () => reject(cancelled()))
    request.on('close', () => reject(cancelled()))
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const oversized = (maxBytes: number) => tooLarge(`the body must be at most ${maxBytes} bytes`, 413)

const announcedBytes = (request: IncomingMessage) => Number(request.headers['content-length'] ?? 0)

/**
 * Whether the unread part of the body is, or may be, too long to be read and discarded. A short unread part is
 * discarded, so that the connection can be used again.
 */
export function hasLongUnreadBody(request: IncomingMessage): boolean {
  if (request.complete || awaitsContinue(request)) return false
  return request.headers['transfer-encoding'] !== undefined || announcedBytes(request) > maxBodyBytes
}

/** Requests that were answered with 100 Continue. Entries disappear with their requests. */
const continued = new WeakSet<IncomingMessage>()

/** Whether the client waits for 100 Continue before it sends the body. */
export function awaitsContinue(request: IncomingMessage): boolean {
  const { expect } = request.headers
  if (expect === undefined || request.complete || request.httpVersion === '1.0') return false
  return expect.toLowerCase() === '100-continue' && !continued.has(request)
}

export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  continued.add(request)
  response.writeContinue()
}
