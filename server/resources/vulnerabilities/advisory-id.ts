// The names under which advisories are published: random, and without letters that could make words.
import type { RandomBytes } from '../../crypto/random.ts'

const alphabet = '23456789cfghjmpqrvwx'
const form = /^CGA(?:-[23456789cfghjmpqrvwx]{4}){3}$/

export const isAdvisoryId = (text: string) => form.test(text)

export function newAdvisoryId(random: RandomBytes): string {
  const letters: string[] = []
  while (letters.length < 12) {
    for (const byte of random(16)) {
      // Bytes that do not divide evenly are passed over, so that no letter is likelier than another.
      if (byte < 240) letters.push(alphabet[byte % 20] ?? '')
    }
  }
  const text = letters.slice(0, 12).join('')
  return `CGA-${text.slice(0, 4)}-${text.slice(4, 8)}-${text.slice(8)}`
}
