// What is kept of a secret in its place, and how two of them are compared.
import { createHash, timingSafeEqual } from 'node:crypto'

export const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url')

/** Takes as long for what is wrong as for what is right. */
export const isSame = (a: string, b: string) =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
