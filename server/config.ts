// The only reader of the environment. Every setting is an environment variable and a flag; whatever is wrong
// with them is told in one message.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { parseArgs } from 'node:util'

export type Tls = { cert: string; key: string }

export type Config = {
  port: number
  hosts: string[]
  baseUrl: string
  authUrl: string
  dataDir: string
  databaseUrl: string | undefined
  databaseConnections: number
  errorDomain: string
  secretKey: string | undefined
  organizationCreation: 'people' | 'nobody'
  /** Issuers that are trusted although they are not public https. */
  trustedIssuers: string[]
  corsOrigins: string[]
  /** Whose word is taken for where a call comes from. */
  trustedProxies: string[]
  /** What may stand before the names of our gRPC services. */
  vendorPrefixes: string[]
  tls: Tls | undefined
  logLevel: string
  /** How long a stopping server still takes calls, so that load balancers can turn away. */
  drainDelay: number
  /** What can be started with, and is hardly meant. */
  warnings: string[]
}

type Reader<T> = (text: string) => T

type Setting = {
  variable: string
  flag: string
  about: string
  fallback: string
  /** An empty variable is a value, and not the lack of one. */
  mayBeEmpty: boolean
}

const setting = (variable: string, fallback: string, about: string, mayBeEmpty = false): Setting => ({
  variable,
  flag: variable
    .replace(/^STEMMA_/, '')
    .toLowerCase()
    .replaceAll('_', '-'),
  about,
  fallback,
  mayBeEmpty,
})

export const settings = {
  port: setting('PORT', '8080', 'the port that serves everything'),
  host: setting('HOST', 'localhost', 'the address to listen on; localhost means 127.0.0.1 and ::1'),
  baseUrl: setting('STEMMA_BASE_URL', '', 'how clients reach the API; the audience of access tokens'),
  authUrl: setting('STEMMA_AUTH_URL', '', 'how clients reach the token issuer; the base URL unless set'),
  dataDir: setting('STEMMA_DATA_DIR', './data', 'where the embedded store lives'),
  databaseUrl: setting('DATABASE_URL', '', 'postgres://… to use PostgreSQL in place of the embedded store'),
  databaseConnections: setting('STEMMA_DATABASE_CONNECTIONS', '10', 'the most connections to PostgreSQL'),
  errorDomain: setting('STEMMA_ERROR_DOMAIN', 'iam.stemma.dev', 'the domain that errors name'),
  secretKey: setting('STEMMA_SECRET_KEY', '', 'wraps keys and secrets at rest; required with PostgreSQL'),
  organizationCreation: setting(
    'STEMMA_ORG_CREATION',
    'people',
    'who may create organizations: people or nobody',
  ),
  trustedIssuers: setting(
    'STEMMA_TRUSTED_ISSUERS',
    '',
    'token issuers to trust although they are not public https, separated by commas',
  ),
  corsOrigins: setting('STEMMA_CORS_ORIGINS', '', 'web origins that may call, separated by commas'),
  trustedProxies: setting(
    'STEMMA_TRUSTED_PROXIES',
    '',
    'addresses or networks whose X-Forwarded-For is believed, separated by commas',
  ),
  vendorPrefixes: setting(
    'STEMMA_VENDOR_PREFIXES',
    'chainguard.',
    'what clients may put before our gRPC names, separated by commas; empty for nothing',
    true,
  ),
  tlsCert: setting('STEMMA_TLS_CERT', '', 'a PEM file with the certificate chain; turns TLS on'),
  tlsKey: setting('STEMMA_TLS_KEY', '', 'a PEM file with the key of the certificate'),
  logLevel: setting('STEMMA_LOG_LEVEL', 'info', 'trace, debug, info, warn, error, fatal or silent'),
  drainDelay: setting('STEMMA_DRAIN_DELAY', '5', 'seconds that a server told to stop still takes calls'),
} as const

export class ConfigError extends Error {
  constructor(faults: string[]) {
    super(`Stemma cannot start with these settings:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

/** Flags win over the environment. Whatever is no setting is left to the command, in `rest`. */
export function readConfig(
  env: NodeJS.ProcessEnv,
  args: string[],
  own: FlagTypes = {},
): { config: Config; flags: Record<string, string | boolean | undefined>; rest: string[] } {
  const faults: string[] = []
  const { values, positionals } = parseFlags(args, own, faults)
  const config = makeConfig((key) => {
    const { variable, flag, fallback, mayBeEmpty } = settings[key]
    const set = mayBeEmpty ? env[variable] : env[variable] || undefined
    return String(values[flag] ?? set ?? fallback)
  }, faults)
  if (faults.length > 0) throw new ConfigError(faults)
  return { config, flags: values, rest: positionals }
}

type FlagTypes = Record<string, { type: 'string' | 'boolean' }>

/** Not strict, because then the parser would stop at the first fault; all of them are collected here. */
function parseFlags(args: string[], own: FlagTypes, faults: string[]) {
  const known = Object.values(settings).map(({ flag }) => [flag, { type: 'string' as const }])
  const options: FlagTypes = { ...Object.fromEntries(known), ...own }
  const { tokens, positionals } = parseArgs({ args, options, strict: false, tokens: true })
  const values: Record<string, string | boolean | undefined> = {}
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const type = Object.hasOwn(options, name) && rawName.startsWith('--') ? options[name]?.type : undefined
    // Without `=`, what starts with a dash is the next flag and no value.
    const isMissing = value === undefined || (!inlineValue && value.startsWith('-'))
    if (type === undefined) faults.push(`there is no flag ${rawName}`)
    else if (type === 'boolean' && value !== undefined) faults.push(`${rawName} takes no value`)
    else if (type === 'string' && isMissing) faults.push(`${rawName} needs a value`)
    else values[name] = value ?? true
  }
  return { values, positionals }
}

function makeConfig(textOf: (key: keyof typeof settings) => string, faults: string[]): Config {
  const read = <T>(key: keyof typeof settings, reader: Reader<T>, instead: T): T => {
    try {
      return reader(textOf(key))
    } catch (error) {
      faults.push(`${settings[key].variable} (--${settings[key].flag}) ${(error as Error).message}`)
      return instead
    }
  }
  const port = read('port', integer(0, 65535), 8080)
  const tls = readTls(textOf('tlsCert'), textOf('tlsKey'), faults)
  const scheme = tls ? 'https' : 'http'
  const baseUrl = read('baseUrl', url, '') || `${scheme}://localhost:${port}`
  const databaseUrl = read('databaseUrl', postgresUrl, undefined)
  const secretKey = read('secretKey', secret, undefined)
  if (databaseUrl && textOf('secretKey') === '') {
    faults.push(
      'STEMMA_SECRET_KEY (--secret-key) is required with DATABASE_URL: at least 32 random characters, the same for every copy',
    )
  }
  const listensOn = read('host', hosts, [])
  return {
    port,
    hosts: listensOn,
    baseUrl,
    authUrl: read('authUrl', url, '') || baseUrl,
    dataDir: read('dataDir', matching(/^[^\0]+$/, 'must be a folder'), ''),
    databaseUrl,
    databaseConnections: read('databaseConnections', integer(1, 1000), 10),
    errorDomain: read('errorDomain', matching(/^[a-z0-9.-]{1,253}$/, 'must be a domain name'), ''),
    secretKey,
    organizationCreation: read('organizationCreation', oneOf('people', 'nobody'), 'people'),
    trustedIssuers: read('trustedIssuers', issuers, []),
    corsOrigins: read('corsOrigins', origins, []),
    trustedProxies: read('trustedProxies', networks, []),
    vendorPrefixes: read('vendorPrefixes', packagePrefixes, []),
    tls,
    logLevel: read('logLevel', oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info'),
    drainDelay: read('drainDelay', integer(0, 600), 5) * 1000,
    warnings: textOf('baseUrl') === '' ? foreignAudience(listensOn, baseUrl) : [],
  }
}

/** Who listens to other machines has clients there, whose tokens must name an address that they know. */
function foreignAudience(listensOn: string[], baseUrl: string): string[] {
  const open = listensOn.filter((host) => !/^(127\.|::1$|localhost$)/i.test(host))
  return open.map(
    (host) =>
      `HOST is ${host} but STEMMA_BASE_URL is not set: tokens are for the audience ${baseUrl}, so clients on other machines cannot use them; set it to the address they call`,
  )
}

function integer(least: number, most: number): Reader<number> {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= least && number <= most))
      throw new Error(`must be a whole number from ${least} to ${most}, not ${quote(text)}`)
    return number
  }
}

function oneOf<T extends string>(...words: T[]): Reader<T> {
  return (text) => {
    const word = words.find((candidate) => candidate === text)
    if (word === undefined) throw new Error(`must be one of ${words.join(', ')}, not ${quote(text)}`)
    return word
  }
}

function matching(pattern: RegExp, complaint: string): Reader<string> {
  return (text) => {
    if (!pattern.test(text)) throw new Error(`${complaint}, not ${quote(text)}`)
    return text
  }
}

const quote = (text: string) => JSON.stringify(text.slice(0, 100))

function url(text: string): string {
  if (text === '') return ''
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = /^https?:\/\/[!-~]+$/.test(text) && !/["\\<>?#]|\/$/.test(text)
  if (!parsed || !isPlain || parsed.username !== '' || parsed.password !== '') {
    // What stands before an @ may be a password.
    const shown = quote(text.replace(/\/\/.*@/s, '//…@'))
    throw new Error(`must be an http or https URL without user, query, fragment or final slash, not ${shown}`)
  }
  return text
}

function postgresUrl(text: string): string | undefined {
  if (text === '') return undefined
  // The text may hold a password, so it is not repeated.
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) throw new Error('must be a postgres:// URL')
  return text
}

function secret(text: string): string | undefined {
  if (text === '') return undefined
  if (text.length < 32) throw new Error('must be at least 32 characters long')
  return text
}

function hosts(text: string): string[] {
  if (text === 'localhost') return ['127.0.0.1', '::1']
  if (!/^[A-Za-z0-9.:-]{1,253}$/.test(text))
    throw new Error(`must be a host name or an address, not ${quote(text)}`)
  return [text]
}

const listOf = (text: string) =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)

/** As tokens name them, so a final slash counts. */
function issuers(text: string): string[] {
  const list = listOf(text)
  for (const issuer of list) {
    if (!/^https?:\/\/[!-~]+$/.test(issuer) || !URL.canParse(issuer))
      throw new Error(`must be http or https URLs, not ${quote(issuer)}`)
  }
  return list
}

function origins(text: string): string[] {
  const list = listOf(text)
  for (const origin of list) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new Error(`must be origins such as https://console.example.com, not ${quote(origin)}`)
    }
  }
  return list
}

function networks(text: string): string[] {
  const list = listOf(text)
  for (const network of list) {
    const [address = '', bits = '0', ...more] = network.split('/')
    const most = { 4: 32, 6: 128 }[isIP(address)]
    if (most === undefined || more.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most)
      throw new Error(`must be addresses or networks such as 10.0.0.0/8, not ${quote(network)}`)
  }
  return list
}

const mostPrefixes = 10

function packagePrefixes(text: string): string[] {
  const list = [...new Set(listOf(text))]
  for (const prefix of list) {
    if (!/^(?:[a-z][a-z0-9_]{0,62}\.){1,5}$/.test(prefix))
      throw new Error(`must be packages that end in a dot, such as example., not ${quote(prefix)}`)
  }
  // Every name of every service is registered under each.
  if (list.length > mostPrefixes) throw new Error(`must be at most ${mostPrefixes}, not ${list.length}`)
  return list
}

function readTls(cert: string, key: string, faults: string[]): Tls | undefined {
  if (cert === '' && key === '') return undefined
  if (cert === '' || key === '') {
    faults.push('STEMMA_TLS_CERT and STEMMA_TLS_KEY must be set together')
    return undefined
  }
  try {
    const tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
    createSecureContext(tls)
    return tls
  } catch (error) {
    faults.push(
      `STEMMA_TLS_CERT and STEMMA_TLS_KEY must be PEM files that belong together: ${(error as Error).message}`,
    )
    return undefined
  }
}
