// Page tokens: keyset cursors sealed with AES-GCM, so that they can be neither read nor forged. A token says where
// a list continues, and grants no access.
import type { CipherKey } from 'node:crypto'
import { createCipheriv, createDecipheriv, hash } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import { BoundedMap } from '../bounded-map.ts'
import type { RandomBytes } from '../crypto/random.ts'
import { invalidField } from './errors.ts'

export type PageKey = { kid: string; secret: CipherKey }
export type PageKeys = { current: PageKey; find(kid: string): PageKey | undefined }

/** A token is valid only for the same method and the same fingerprint, which covers filter and order. */
export type Query = { method: string; fingerprint: string }
export type Cursor = (string | number)[]

/** Seals and opens the tokens of a server. */
export type PageSeals = {
  seal(query: Query, cursor: Cursor): string
  open(query: Query, token: string): Cursor | undefined
}

const lifetimeMs = 3 * 24 * 60 * 60 * 1000
/**
 * In characters. A token must fit into a URL. The limit is enough for the longest uid and name,
 * because these are compressed.
 */
const maxTokenLength = 4096
/** In bytes. Longer content is compressed: JSON escapes a control character of a name with six characters. */
const maxPlainLength = 2048
const nonceSize = 12
const tagSize = 16
const kidSize = 8
const maxPlainFingerprintLength = 128
/** How long the token of a page is reused. */
const reuseMs = 60 * 1000
const maxReusedTokens = 500

/**
 * The id of a new key. Its first bit is 0. Tokens start with the id of their key, so no token starts with a dash, which
 * command lines would take for an option.
 */
export function newPageKid(random: RandomBytes): string {
  const bytes = Buffer.from(random(kidSize))
  bytes.writeUInt8(bytes.readUInt8() & 0x7f)
  return bytes.toString('hex')
}

/** Short text is its own fingerprint; longer text is hashed. */
export function fingerprintOf(parts: unknown): string {
  const text = JSON.stringify(parts)
  return text.length <= maxPlainFingerprintLength ? text : hash('sha256', text, 'base64url').slice(0, 22)
}

/**
 * If a page is listed again within a minute, its token is reused: sealing a token takes as long as reading ten rows.
 */
export function openPageSeals(keys: PageKeys, now: () => number, random: RandomBytes): PageSeals {
  const recent = new BoundedMap<string, { token: string; sealTime: number }>(maxReusedTokens)
  return {
    seal(query, cursor) {
      const time = now()
      const cacheKey = `${keys.current.kid} ${query.method} ${query.fingerprint} ${JSON.stringify(cursor)}`
      const sealed = recent.get(cacheKey)
      if (sealed && time >= sealed.sealTime && time - sealed.sealTime < reuseMs) return sealed.token
      const token = sealPageToken(keys, query, cursor, time, random)
      recent.set(cacheKey, { token, sealTime: time })
      return token
    },
    open: (query, token) => openPageToken(keys, query, token, now()),
  }
}

export function sealPageToken(
  keys: PageKeys,
  query: Query,
  cursor: Cursor,
  now: number,
  random: RandomBytes,
): string {
  const { kid, secret } = keys.current
  const nonce = random(nonceSize)
  const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(query.method))
  const sealed = cipher.update(pack([now, query.fingerprint, cursor]))
  cipher.final() // returns nothing in this mode
  return Buffer.concat([Buffer.from(kid, 'hex'), nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** The cursor of a token. Undefined if the token is empty or has expired; then the list starts from its beginning. */
export function openPageToken(keys: PageKeys, query: Query, token: string, now: number): Cursor | undefined {
  if (token === '') return undefined
  const bytes = decode(token)
  const key = keys.find(bytes.subarray(0, kidSize).toString('hex'))
  const sealed = bytes.subarray(kidSize + nonceSize + tagSize)
  if (!key || sealed.length === 0) throw forged()
  const nonce = bytes.subarray(kidSize, kidSize + nonceSize)
  const tag = bytes.subarray(kidSize + nonceSize, kidSize + nonceSize + tagSize)
  const decipher = createDecipheriv('aes-256-gcm', key.secret, nonce, { authTagLength: tagSize })
  decipher.setAAD(Buffer.from(query.method)).setAuthTag(tag)
  const [issueTime, fingerprint, cursor] = unpack(unseal(decipher, sealed))
  if (now - issueTime > lifetimeMs) return undefined
  if (fingerprint !== query.fingerprint) {
    throw invalidField('page_token', 'belongs to a list with another filter or order; start again without it')
  }
  return cursor
}

/**
 * Refuses text that is not canonical base64url, so that a token is accepted only exactly as it was
 * issued. Node's decoder alone would ignore characters that are not base64url.
 */
function decode(token: string): Buffer {
  const bytes = token.length <= maxTokenLength ? Buffer.from(token, 'base64url') : Buffer.alloc(0)
  if (bytes.toString('base64url') !== token) throw forged()
  return bytes
}

type Content = [issueTime: number, fingerprint: string, cursor: Cursor]

function pack(content: Content): Buffer {
  const json = Buffer.from(JSON.stringify(content))
  return json.length > maxPlainLength ? deflateSync(json) : json
}

/** The JSON begins with a bracket, which compressed data never does (RFC 1950, section 2.2). */
function unpack(bytes: Buffer): Content {
  const json = bytes[0] === bracket ? bytes : inflateSync(bytes)
  return JSON.parse(json.toString()) as Content // we sealed it
}

const bracket = '['.charCodeAt(0)

function unseal(decipher: ReturnType<typeof createDecipheriv>, sealed: Buffer): Buffer {
  try {
    return Buffer.concat([decipher.update(sealed), decipher.final()])
  } catch {
    throw forged()
  }
}

const forged = () => invalidField('page_token', 'must be the next_page_token of the same list')
