// Validates the settings and converts them to a Config. All faults are reported in one error.
import { ConfigError } from './config-error.ts'
import type { ContentConfig, Read, Texts } from './content.ts'
import { readContent } from './content.ts'
import type { Flags, FlagTypes } from './env.ts'
import { readSettings } from './env.ts'
import { warnOfMisspelledVariables } from './misspelled-variables.ts'
import type { Rate } from './readers.ts'
import {
  counts,
  documents,
  hosts,
  integer,
  issuers,
  limits,
  matching,
  networks,
  oneOf,
  optional,
  origins,
  packagePrefixes,
  postgresUrl,
  rate,
  secret,
  typePrefix,
  url,
  workerCount,
} from './readers.ts'
import type { SettingKey } from './settings.ts'
import { settings } from './settings.ts'
import type { Tls } from './tls.ts'
import { readTls } from './tls.ts'

export type Config = {
  port: number
  /** A separate port for /metrics; undefined if the main port serves /metrics. */
  metricsPort: number | undefined
  hosts: string[]
  baseUrl: string
  authUrl: string
  dataDir: string
  /** Where the content of repos is stored. */
  content: ContentConfig
  databaseUrl: string | undefined
  databaseConnections: number
  errorDomain: string
  secretKey: string | undefined
  organizationCreation: 'people' | 'anyone' | 'nobody'
  /** The algorithm that signs access tokens. */
  tokenAlgorithm: 'RS256' | 'ES256'
  /** Whether a push to a repo that does not exist creates it. */
  repoCreation: 'push' | 'api'
  /** When unreferenced content of the registry is deleted. An interval of 0 means never. */
  garbageCollection: { intervalMs: number; graceMs: number }
  /** Whether everybody can pull from repos that are public. */
  publicRepos: boolean
  /** How many unfinished uploads may exist; 0 for any number. */
  maxUploads: { caller: number; organization: number }
  /** How many uploads may arrive at a time at one worker; 0 for any number. */
  maxUploadBodies: { caller: number; total: number }
  maxPulls: { network: number; total: number }
  /** How often the retention rules of a repo are applied. 0: never. */
  retentionIntervalMs: number
  /**
   * The maximum age of the sign-in of people who change second factors or owners, and of operators
   * who change people or keys.
   */
  freshSignInMs: number
  /** For how many days entries of the event log are kept. 0: for ever. */
  auditRetentionDays: number
  /** The default limits on the number of resources in an organization, by name. */
  defaultLimits: [name: string, limit: number][]
  /** Documents that groups can accept. */
  terms: { id: string; url: string | undefined }[]
  /** Issuers that are trusted although they have no public https URL. */
  trustedIssuers: string[]
  corsOrigins: string[]
  /** Addresses and networks whose X-Forwarded-For is trusted. */
  trustedProxies: string[]
  /** Prefixes that clients may put before the names of our gRPC services. */
  vendorPrefixes: string[]
  /** Which pulls from the registry are recorded as events. */
  pullEvents: 'all' | 'manifests' | 'none'
  /** Put before the types of events, such as `dev.stemma.`. */
  eventTypePrefix: string
  /** How many connections of clients may be open. */
  maxConnections: { perNetwork: number; total: number }
  /** How many threads serve calls. */
  workers: number
  /** Calls per second, by cost class; 0 for no limit. */
  rates: Record<'read' | 'list' | 'write' | 'exchange' | 'sign-in', Rate>
  /** How many calls of one caller may run at a time; 0 for any number. */
  maxCallsPerCaller: number
  tls: Tls | undefined
  logLevel: string
  /** How long a stopping server accepts calls, in milliseconds. Load balancers need this time to notice the stop. */
  drainDelayMs: number
  /** Settings that work but are probably mistakes. */
  warnings: string[]
}

/** `positionals` contains the arguments that are not flags. */
export function readConfig(
  env: NodeJS.ProcessEnv,
  args: string[],
  commandFlags: FlagTypes = {},
): { config: Config; flags: Flags; positionals: string[] } {
  const { texts, flags, positionals, faults } = readSettings(env, args, commandFlags)
  const config = makeConfig(texts, faults)
  if (faults.length > 0) throw new ConfigError(faults)
  config.warnings.push(...warnOfMisspelledVariables(env))
  return { config, flags, positionals }
}

function makeConfig(texts: Texts, faults: string[]): Config {
  const read = openRead(texts, faults)
  const port = read('port', integer(0, 65535), 8080)
  const metricsPort = read('metricsPort', optional(integer(0, 65535)), undefined)
  if (metricsPort === port && port !== 0)
    faults.push('STEMMA_METRICS_PORT (--metrics-port) must differ from PORT')
  const tls = readTls(texts.tlsCert, texts.tlsKey, faults)
  const baseUrl = read('baseUrl', url, '') || `${tls ? 'https' : 'http'}://localhost:${port}`
  const listenHosts = read('host', hosts, [])
  const databaseUrl = read('databaseUrl', postgresUrl, undefined)
  if (databaseUrl && texts.secretKey === '') faults.push(secretKeyRequired)
  const dataDir = read('dataDir', matching(/^[^\0]+$/, 'must be a folder'), '')
  return {
    port,
    metricsPort,
    hosts: listenHosts,
    baseUrl,
    authUrl: read('authUrl', url, '') || baseUrl,
    dataDir,
    content: readContent(texts, dataDir, read, faults),
    databaseUrl,
    databaseConnections: read('databaseConnections', integer(1, 1000), 10),
    errorDomain: read('errorDomain', matching(/^[a-z0-9.-]{1,253}$/, 'must be a domain name'), ''),
    secretKey: read('secretKey', secret, undefined),
    organizationCreation: read('organizationCreation', oneOf('people', 'anyone', 'nobody'), 'people'),
    tokenAlgorithm: read('tokenAlgorithm', oneOf('RS256', 'ES256'), 'RS256'),
    repoCreation: read('repoCreation', oneOf('push', 'api'), 'push'),
    garbageCollection: {
      intervalMs: read('collectionInterval', integer(0, 10_080), 0) * 60_000,
      graceMs: read('collectionGrace', integer(1, 525_600), 1440) * 60_000,
    },
    publicRepos: read('publicRepos', oneOf('on', 'off'), 'off') === 'on',
    maxUploads: read('maxUploads', counts(maxUploads), maxUploads),
    maxUploadBodies: read('maxUploadBodies', counts(maxUploadBodies), maxUploadBodies),
    maxPulls: read('maxPulls', counts(maxPulls), maxPulls),
    retentionIntervalMs: read('retentionInterval', integer(0, 43_200), 0) * 60_000,
    freshSignInMs: read('freshSignIn', integer(1, 43_200), 15) * 60_000,
    auditRetentionDays: read('auditRetention', integer(0, 36_500), 400),
    defaultLimits: read('defaultLimits', limits, []),
    terms: read('terms', documents, []),
    trustedIssuers: read('trustedIssuers', issuers, []),
    corsOrigins: read('corsOrigins', origins, []),
    trustedProxies: read('trustedProxies', networks, []),
    vendorPrefixes: read('vendorPrefixes', packagePrefixes, []),
    pullEvents: read('pullEvents', oneOf('all', 'manifests', 'none'), 'all'),
    eventTypePrefix: read('eventTypePrefix', typePrefix, 'dev.stemma.'),
    maxConnections: {
      perNetwork: read('maxConnectionsPerNetwork', integer(1, 1_000_000), 1000),
      total: read('maxConnections', integer(1, 1_000_000), 10_000),
    },
    workers: read('workers', workerCount, 1),
    rates: readRates(read),
    maxCallsPerCaller: read('maxCallsPerCaller', integer(0, 1_000_000), 250),
    tls,
    logLevel: read('logLevel', oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info'),
    drainDelayMs: read('drainDelay', integer(0, 600), 5) * 1000,
    warnings: texts.baseUrl === '' ? warnOfLocalAudience(listenHosts, baseUrl) : [],
  }
}

/** After a fault the value is `placeholder`, and the remaining settings are read for further faults. */
function openRead(texts: Texts, faults: string[]): Read {
  return (key, reader, placeholder) => {
    try {
      return reader(texts[key])
    } catch (error) {
      faults.push(`${settings[key].variable} (--${settings[key].flag}) ${(error as Error).message}`)
      return placeholder
    }
  }
}

function readRates(read: Read): Config['rates'] {
  const readRate = (key: SettingKey) => {
    const reader = rate(settings[key].defaultText)
    return read(key, reader, reader('0'))
  }
  return {
    read: readRate('rateRead'),
    list: readRate('rateList'),
    write: readRate('rateWrite'),
    exchange: readRate('rateExchange'),
    'sign-in': readRate('rateSignIn'),
  }
}

const maxUploads = { caller: 1000, organization: 5000 }
const maxUploadBodies = { caller: 64, total: 512 }
const maxPulls = { network: 512, total: 2048 }

const secretKeyRequired =
  'STEMMA_SECRET_KEY (--secret-key) is required with DATABASE_URL: at least 32 random characters, the same for every copy'

/** Tokens are bound to the base URL, so clients on other machines need a base URL that is not localhost. */
function warnOfLocalAudience(listenHosts: string[], baseUrl: string): string[] {
  const reachable = listenHosts.filter((host) => !/^(127\.|::1$|localhost$)/i.test(host))
  return reachable.map(
    (host) =>
      `HOST is ${host} but STEMMA_BASE_URL is not set: tokens are for the audience ${baseUrl}, so clients on other machines cannot use them; set STEMMA_BASE_URL to the address that they call`,
  )
}
