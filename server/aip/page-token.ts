// Where the next page starts, sealed so that it can be neither read nor made up. A token says where a list
// went on, never what its bearer may see.
import type { CipherKey } from 'node:crypto'
import { createCipheriv, createDecipheriv, hash } from 'node:crypto'
import type { RandomBytes } from '../crypto/random.ts'
import { invalidField } from './errors.ts'

export type PageKey = { kid: string; secret: CipherKey; retired: boolean }
export type PageKeys = { current: PageKey; find(kid: string): PageKey | undefined }

/** What a token is bound to: the call, and everything that decides which rows come in which order. */
export type Query = { method: string; fingerprint: string }
export type Cursor = (string | number)[]

/** Seals and opens the tokens of a server. */
export type PageSeals = {
  seal(query: Query, cursor: Cursor): string
  open(query: Query, token: string): Cursor | undefined
}

const lifetime = 3 * 24 * 60 * 60 * 1000
/** Room for the longest uid and a name that JSON writes with six characters for each of its own. */
const longest = 4096
const nonceSize = 12
const tagSize = 16
const kidSize = 8
const shortEnough = 128
/** How long a token is given again, and how many of them. */
const freshFor = 60 * 1000
const mostFresh = 500

/** A token begins with it. With a dash, programs would take what they are given for an option. */
export function newPageKid(random: RandomBytes): string {
  const bytes = Buffer.from(random(kidSize))
  bytes.writeUInt8(bytes.readUInt8() & 0x7f)
  return bytes.toString('hex')
}

/** What is short stands for itself. */
export function fingerprintOf(parts: unknown): string {
  const text = JSON.stringify(parts)
  return text.length <= shortEnough ? text : hash('sha256', text, 'base64url').slice(0, 22)
}

/** Whoever lists the same again gets the same token for a while: to seal one costs as much as to read ten rows. */
export function openPageSeals(keys: PageKeys, now: () => number, random: RandomBytes): PageSeals {
  const fresh = new Map<string, string>()
  let since = 0

  function forgetOld(time: number): void {
    if (time - since < freshFor && time >= since && fresh.size < mostFresh) return
    fresh.clear()
    since = time
  }

  return {
    seal(query, cursor) {
      const time = now()
      forgetOld(time)
      const page = `${keys.current.kid} ${query.method} ${query.fingerprint} ${JSON.stringify(cursor)}`
      const token = fresh.get(page) ?? sealPageToken(keys, query, cursor, time, random)
      fresh.set(page, token)
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
  const sealed = cipher.update(JSON.stringify([now, query.fingerprint, cursor]))
  cipher.final() // holds nothing more in this mode
  return Buffer.concat([Buffer.from(kid, 'hex'), nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** The cursor of a token; undefined where the list starts at the beginning: no token, or one past its days. */
export function openPageToken(keys: PageKeys, query: Query, token: string, now: number): Cursor | undefined {
  if (token === '') return undefined
  const bytes = decode(token)
  const key = keys.find(bytes.subarray(0, kidSize).toString('hex'))
  const sealed = bytes.subarray(kidSize + nonceSize + tagSize)
  if (!key || sealed.length === 0) throw forged()
  if (key.retired) return undefined
  const nonce = bytes.subarray(kidSize, kidSize + nonceSize)
  const tag = bytes.subarray(kidSize + nonceSize, kidSize + nonceSize + tagSize)
  const decipher = createDecipheriv('aes-256-gcm', key.secret, nonce, { authTagLength: tagSize })
  decipher.setAAD(Buffer.from(query.method)).setAuthTag(tag)
  const [issued, fingerprint, cursor] = JSON.parse(unseal(decipher, sealed)) as [number, string, Cursor] // we sealed it
  if (now - issued > lifetime) return undefined
  if (fingerprint !== query.fingerprint) {
    throw invalidField('page_token', 'belongs to a list with another filter or order; start again without it')
  }
  return cursor
}

/** Only the one spelling that we send: base64 decoders pass over what they do not know. */
function decode(token: string): Buffer {
  const bytes = token.length <= longest ? Buffer.from(token, 'base64url') : Buffer.alloc(0)
  if (bytes.toString('base64url') !== token) throw forged()
  return bytes
}

function unseal(decipher: ReturnType<typeof createDecipheriv>, sealed: Buffer): string {
  try {
    return decipher.update(sealed, undefined, 'utf8') + decipher.final('utf8')
  } catch {
    throw forged()
  }
}

const forged = () => invalidField('page_token', 'must be the next_page_token of the same list')
