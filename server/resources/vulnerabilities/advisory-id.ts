// Ids under which advisories are published, such as CGA-2345-6789-cfgh. Their alphabet has no vowels, so that they form no
// words.
import type { RandomBytes } from '../../crypto/random.ts'

export const advisoryIdLetters = '23456789cfghjmpqrvwx'
const pattern = /^CGA(?:-[23456789cfghjmpqrvwx]{4}){3}$/

export const isAdvisoryId = (text: string) => pattern.test(text)

export function newAdvisoryId(random: RandomBytes): string {
  const letters: string[] = []
  while (letters.length < 12) {
    for (const byte of random(16)) {
      // A byte has 256 values: 240 are divided evenly among the 20 letters, and the other 16 would favour some letters.
      if (byte < 240) letters.push(advisoryIdLetters[byte % 20] ?? '')
    }
  }
  const text = letters.slice(0, 12).join('')
  return `CGA-${text.slice(0, 4)}-${text.slice(4, 8)}-${text.slice(8)}`
}
