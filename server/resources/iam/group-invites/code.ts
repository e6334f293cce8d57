// The code of an invite: what is handed to the invited. The store keeps its digest alone.
import type { RandomBytes } from '../../../crypto/random.ts'

export type Code = { group: string; keyId: string; secret: string }

const keyIdSize = 8
const secretSize = 32
const longest = 4096

export function makeCode(group: string, random: RandomBytes): { code: string; keyId: string } {
  const keyId = random(keyIdSize).toString('hex')
  const secret = random(secretSize).toString('base64url')
  // Clients look for `grp` as the first key.
  const code = Buffer.from(JSON.stringify({ grp: group, kid: keyId, sec: secret })).toString('base64')
  return { code, keyId }
}

/** The short name of a code; undefined where it is no code of ours. */
export function keyIdOf(code: string): string | undefined {
  if (code.length > longest) return undefined
  try {
    const { kid } = JSON.parse(Buffer.from(code, 'base64').toString()) as { kid?: unknown }
    return typeof kid === 'string' && /^[0-9a-f]{16}$/.test(kid) ? kid : undefined
  } catch {
    return undefined
  }
}
