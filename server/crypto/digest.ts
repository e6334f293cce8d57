// Digests, which are stored in place of secrets, and their comparison.
import { createHash, timingSafeEqual } from 'node:crypto'

export const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url')

/** Compares in a time that does not depend on where the texts differ. */
export function equalInConstantTime(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
