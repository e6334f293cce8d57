// Passwords that many people choose, which an attacker tries first (NIST SP 800-63B, 3.1.1.2).
import { readFileSync } from 'node:fs'

/** The list of zxcvbn-ts: the most frequent passwords of published leaks, in lower case, as a JSON array. */
const listFile = '@zxcvbn-ts/language-common/src/passwords.json'

/** Shorter words of the list are ignored. Otherwise `8392cat0174` would be common, because `cat` is in the list. */
const minWordLength = 4

/**
 * Reads the file for each new password, which is rare. Reading it when the module is loaded would delay every command.
 * Words are searched in the JSON text, because parsing its 50,000 words takes longer than all searches.
 */
function openList(): (word: string) => boolean {
  const text = readFileSync(new URL(import.meta.resolve(listFile)), 'utf8')
  return (word) => word.length >= minWordLength && text.includes(JSON.stringify(word))
}

/** Alphabet, digits and rows of keyboards. A part of one of them with at least four characters is a common password. */
const sequences = [
  ...['abcdefghijklmnopqrstuvwxyz', '01234567890123456789', '0987654321098765432109876543210'],
  ...['qwertyuiopasdfghjklzxcvbnm', 'qwertzuiopasdfghjklyxcvbnm', 'poiuytrewqlkjhgfdsamnbvcxz'],
]

/** Characters that people write in place of letters. */
const substitutes: Record<string, string> = {
  ...{ '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't' },
  ...{ '@': 'a', $: 's', '!': 'i' },
}

/**
 * Whether a password is a common one, or becomes one if digits and symbols at its ends are removed, substitutes are
 * replaced by letters, or repetitions are left out: `Password2026!`, `p4$$w0rdp4$$w0rd`.
 */
export function isCommonPassword(password: string): boolean {
  const isListed = openList()
  const isCommon = (word: string) =>
    isListed(word) || (word.length > 3 && sequences.some((sequence) => sequence.includes(word)))
  const text = password.normalize('NFKC').toLowerCase()
  return variantsOf(text).some((variant) => {
    const part = repeatedPart(variant)
    // A repetition between many digits or symbols does not make a password easy to guess: `8392-0174-aa-5521`.
    const isMostOfText = variant.length >= text.length / 2
    const repeatsShortPart = part.length <= maxShortPartLength && part.length < variant.length && isMostOfText
    return isCommon(variant) || isCommon(part) || repeatsShortPart
  })
}

/** A password that repeats a part of at most this many characters is always easy to guess. */
const maxShortPartLength = 4

const variantsOf = (text: string) => [
  ...[text, coreOf(text), withLetters(text)],
  ...[withLetters(coreOf(text)), coreOf(withLetters(text))],
]

const withLetters = (text: string) =>
  text.replace(/[013457@$!]/g, (character) => substitutes[character] ?? '')

/**
 * The text without digits and symbols at both ends. A loop: the pattern `\P{L}+$` would take
 * quadratic time.
 */
export function coreOf(text: string): string {
  const isLetter = (at: number) => /\p{L}/u.test(text[at] ?? '')
  let [start, end] = [0, text.length]
  while (start < end && !isLetter(start)) start++
  while (end > start && !isLetter(end - 1)) end--
  return text.slice(start, end)
}

/**
 * The part that a text repeats: `abc` for `abcabcabc`, and the whole text if it repeats nothing. The length of the part
 * is the first index after 0 at which the text occurs in two copies of itself.
 */
const repeatedPart = (text: string) => text.slice(0, `${text}${text}`.indexOf(text, 1))
