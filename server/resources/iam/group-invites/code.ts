// The code of an invite, which its creator sends to the guest. Only its key id and its digest are stored.
import type { RandomBytes } from '../../../crypto/random.ts'

const keyIdBytes = 8
const secretBytes = 32
const maxLength = 4096

export function makeCode(group: string, random: RandomBytes): { code: string; keyId: string } {
  const keyId = random(keyIdBytes).toString('hex')
  const secret = random(secretBytes).toString('base64url')
  // Published clients expect `grp` as the first key.
  const code = Buffer.from(JSON.stringify({ grp: group, kid: keyId, sec: secret })).toString('base64')
  return { code, keyId }
}

/** The link by which a guest accepts an invite in a browser. Its path contains the code as base64url. */
export const inviteUrl = (authUrl: string, code: string) =>
  `${authUrl}/invite/${Buffer.from(code, 'base64').toString('base64url')}`

/** The key id of a code, by which its invite is found; undefined for a text that is not a code. */
export function keyIdOf(code: string): string | undefined {
  if (code.length > maxLength) return undefined
  try {
    const { kid } = JSON.parse(Buffer.from(code, 'base64').toString()) as { kid?: unknown }
    return typeof kid === 'string' && /^[0-9a-f]{16}$/.test(kid) ? kid : undefined
  } catch {
    return undefined
  }
}
