// Each reader turns the text of a setting into its value. If the text is not valid, the reader throws an error. Its
// message, such as "must be …", continues a sentence that begins with the name of the setting.
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'

export type Reader<T> = (text: string) => T

export function integer(min: number, max: number): Reader<number> {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= min && number <= max))
      throw new Error(`must be a whole number from ${min} to ${max}, not ${quote(text)}`)
    return number
  }
}

const maxWorkers = 256

/** `auto` is one for each core that this process may use. */
export function workerCount(text: string): number {
  const count = text === 'auto' ? availableParallelism() : integer(1, maxWorkers)(text)
  if (count > 1 && process.platform !== 'linux')
    throw new Error('must be 1 on this system: only Linux distributes connections among threads')
  return count
}

/** Undefined if the setting is not set. */
export const optional =
  <T>(reader: Reader<T>): Reader<T | undefined> =>
  (text) =>
    text === '' ? undefined : reader(text)

export function oneOf<T extends string>(...words: T[]): Reader<T> {
  return (text) => {
    const word = words.find((candidate) => candidate === text)
    if (word === undefined) throw new Error(`must be one of ${words.join(', ')}, not ${quote(text)}`)
    return word
  }
}

export function matching(pattern: RegExp, rule: string): Reader<string> {
  return (text) => {
    if (!pattern.test(text)) throw new Error(`${rule}, not ${quote(text)}`)
    return text
  }
}

const quote = (text: string) => JSON.stringify(text.slice(0, 100))

export function url(text: string): string {
  if (text === '') return ''
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = /^https?:\/\/[!-~]+$/.test(text) && !/["\\<>?#]|\/$/.test(text)
  if (!parsed || !isPlain || parsed.username !== '' || parsed.password !== '') {
    // The text before an @ may be a password.
    const shown = quote(text.replace(/\/\/.*@/s, '//…@'))
    throw new Error(`must be an http or https URL without user, query, fragment or final slash, not ${shown}`)
  }
  return text
}

export function bucketName(text: string): string {
  if (text === '') throw new Error('is required for S3: the name of a bucket that exists')
  return matching(/^[\w.-]{3,63}$/, 'must be the name of a bucket')(text)
}

export const keyPrefix = matching(
  /^(?:\w[\w.-]*(?:\/\w[\w.-]*){0,7}\/?)?$/,
  'must be up to eight names of letters, digits, dots, dashes and underscores, separated by slashes',
)

export function postgresUrl(text: string): string | undefined {
  if (text === '') return undefined
  // The text may contain a password, so the message does not repeat it.
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) throw new Error('must be a postgres:// URL')
  for (const name of ['statement_timeout', 'query_timeout'])
    if (new URL(text).searchParams.has(name))
      throw new Error(`must not contain ${name}: the server has a timeout for each kind of call`)
  return text
}

export function secret(text: string): string | undefined {
  if (text === '') return undefined
  if (text.length < 32) throw new Error('must be at least 32 characters long')
  return text
}

export function hosts(text: string): string[] {
  if (text === 'localhost') return ['127.0.0.1', '::1']
  if (!/^[A-Za-z0-9.:-]{1,253}$/.test(text))
    throw new Error(`must be a host name or an address, not ${quote(text)}`)
  return [text]
}

const listOf = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

/** Limits by name; which names exist is checked later. */
export function limits(text: string): [name: string, limit: number][] {
  return listOf(text).map((item) => {
    const [, name = '', digits] = /^([A-Za-z_-]{1,64})\s*=\s*(\d{1,10})$/.exec(item) ?? []
    if (digits === undefined || Number(digits) > 2 ** 31 - 1)
      throw new Error(
        `must be names and whole numbers up to 2147483647, such as groups=100,repos=1000, not ${quote(item)}`,
      )
    return [name, Number(digits)]
  })
}

const maxDocuments = 50

/** Documents by id, each optionally followed by = and its URL. */
export function documents(text: string): { id: string; url: string | undefined }[] {
  const list = listOf(text).map((item) => {
    const [, id, url] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,127})(?:\s*=\s*(https?:\/\/[!-~]+))?$/.exec(item) ?? []
    if (id === undefined || (url !== undefined && !URL.canParse(url)))
      throw new Error(
        `must be ids with optional URLs, such as terms-of-use.v1=https://example.com/terms, not ${quote(item)}`,
      )
    return { id, url }
  })
  const ids = new Set(list.map(({ id }) => id))
  if (ids.size < list.length) throw new Error('must contain each id once')
  if (list.length > maxDocuments) throw new Error(`must contain at most ${maxDocuments} documents`)
  return list
}

/** Issuers are compared exactly with the `iss` of tokens, so a final slash matters. */
export function issuers(text: string): string[] {
  const list = listOf(text)
  for (const issuer of list) {
    if (!/^https?:\/\/[!-~]+$/.test(issuer) || !URL.canParse(issuer))
      throw new Error(`must be http or https URLs, not ${quote(issuer)}`)
  }
  return list
}

export function origins(text: string): string[] {
  const list = listOf(text)
  for (const origin of list) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new Error(`must be origins such as https://console.example.com, not ${quote(origin)}`)
    }
  }
  return list
}

export function networks(text: string): string[] {
  const list = listOf(text)
  for (const network of list) {
    const [address = '', bits = '0', ...extra] = network.split('/')
    const maxBits = { 4: 32, 6: 128 }[isIP(address)]
    if (maxBits === undefined || extra.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > maxBits)
      throw new Error(`must be addresses or networks such as 10.0.0.0/8, not ${quote(network)}`)
  }
  return list
}

/** Calls per second of one caller, of one organization, and of one IPv4 address or IPv6 /64; 0 for no limit. */
export type Rate = { caller: number; organization: number; address: number }

const maxRate = 10_000_000

/**
 * Reads calls per second, such as `caller=100,address=0.5`. Limits that the text does not name keep their default; 0
 * alone turns all of them off. Only limits that have a default can be set.
 */
export function rate(defaultText: string): Reader<Rate> {
  const withoutLimits: Rate = { caller: 0, organization: 0, address: 0 }
  const scopes = listOf(defaultText).map((item) => item.split('=')[0])
  const set = (before: Rate, text: string): Rate => {
    const values = { ...before }
    for (const item of listOf(text)) {
      const [, scope = '', number] = /^([a-z]+)=(\d{1,8}(?:\.\d{1,3})?)$/.exec(item) ?? []
      if (!scopes.includes(scope) || !(Number(number) <= maxRate))
        throw new Error(
          `must be 0 or calls per second up to ${maxRate}, such as ${defaultText}, not ${quote(text)}`,
        )
      values[scope as keyof Rate] = Number(number) // `defaultText` names only keys of Rate
    }
    return values
  }
  const defaults = set(withoutLimits, defaultText)
  return (text) => (text === '0' ? withoutLimits : set(defaults, text))
}

const maxCount = 1_000_000

/** Reads numbers such as `caller=10,total=100`. Those that the text does not name keep their default. */
export function counts<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
): Reader<Record<Name, number>> {
  return (text) => {
    const values: Record<Name, number> = { ...defaults }
    for (const item of listOf(text)) {
      const [, name = '', digits] = /^([a-z]+)=(\d{1,7})$/.exec(item) ?? []
      if (!Object.hasOwn(defaults, name) || !(Number(digits) <= maxCount))
        throw new Error(
          `must be whole numbers up to ${maxCount}, such as ${Object.entries(defaults)
            .map(([key, value]) => `${key}=${value}`)
            .join(',')}, not ${quote(text)}`,
        )
      values[name as Name] = Number(digits) // one of the names in `defaults`
    }
    return values
  }
}

/** Every service is registered under each prefix, so the number of prefixes is limited. */
const maxPrefixes = 10

const isPrefix = (text: string) => /^(?:[a-z][a-z0-9_]{0,62}\.){1,5}$/.test(text)

export function packagePrefixes(text: string): string[] {
  const list = [...new Set(listOf(text))]
  for (const prefix of list) {
    if (!isPrefix(prefix))
      throw new Error(`must be package prefixes that end in a dot, such as "example.", not ${quote(prefix)}`)
  }
  if (list.length > maxPrefixes)
    throw new Error(`must be at most ${maxPrefixes} prefixes, not ${list.length}`)
  return list
}

export function typePrefix(text: string): string {
  if (!isPrefix(text))
    throw new Error(`must be a prefix of types that ends in a dot, such as "dev.stemma.", not ${quote(text)}`)
  return text
}
