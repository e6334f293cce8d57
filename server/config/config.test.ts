import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { certFile, keyFile } from '../testing/tls.ts'
import { readConfig } from './config.ts'
import { ConfigError } from './config-error.ts'
import { settings } from './settings.ts'

const read = (env: Record<string, string>, ...args: string[]) => readConfig(env, args).config

/** The faults that the settings are rejected with, one per line of the message. */
function faultsOf(env: Record<string, string>, ...args: string[]): string[] {
  try {
    read(env, ...args)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    const [title, ...lines] = error.message.split('\n')
    assert.equal(title, 'Stemma cannot start with these settings:')
    return lines.map((line) => line.replace(/^ {2}- /, ''))
  }
  return []
}

function assertRejected(variable: string, text: string, pattern: RegExp): void {
  const [fault = '', ...others] = faultsOf({ [variable]: text })
  assert.deepEqual(others, [], text)
  assert.ok(fault.startsWith(`${variable} (--`), fault)
  assert.match(fault, pattern, text)
}

const secret = 'correct horse battery staple and some more'
const database = 'postgres://stemma:hunter2@db.test:5432/stemma'

describe('settings', () => {
  test('have the documented defaults', () => {
    assert.deepEqual(read({}), {
      port: 8080,
      metricsPort: undefined,
      hosts: ['127.0.0.1', '::1'],
      baseUrl: 'http://localhost:8080',
      authUrl: 'http://localhost:8080',
      dataDir: './data',
      content: { driver: 'files', folder: 'data/content' },
      databaseUrl: undefined,
      databaseConnections: 10,
      errorDomain: 'iam.stemma.dev',
      secretKey: undefined,
      organizationCreation: 'people',
      repoCreation: 'push',
      garbageCollection: { intervalMs: 3_600_000, graceMs: 86_400_000 },
      publicRepos: false,
      retentionIntervalMs: 86_400_000,
      freshSignInMs: 900_000,
      auditRetentionDays: 400,
      tokenAlgorithm: 'RS256',
      maxUploads: { caller: 1000, organization: 5000 },
      maxUploadBodies: { caller: 64, total: 512 },
      maxPulls: { network: 512, total: 2048 },
      defaultLimits: [],
      terms: [],
      trustedIssuers: [],
      corsOrigins: [],
      trustedProxies: [],
      vendorPrefixes: ['chainguard.'],
      pullEvents: 'all',
      eventTypePrefix: 'dev.stemma.',
      maxConnections: { perNetwork: 1000, total: 10_000 },
      rates: {
        read: { caller: 2000, organization: 10_000, address: 10_000 },
        list: { caller: 500, organization: 2000, address: 2000 },
        write: { caller: 500, organization: 2000, address: 2000 },
        exchange: { caller: 100, organization: 500, address: 500 },
        'sign-in': { caller: 0, organization: 0, address: 100 },
      },
      maxCallsPerCaller: 250,
      workers: 1,
      tls: undefined,
      logLevel: 'info',
      drainDelayMs: 5000,
      warnings: [],
    })
  })

  test('are read from the environment', () => {
    const config = read({
      PORT: '9000',
      STEMMA_METRICS_PORT: '9090',
      HOST: '0.0.0.0',
      STEMMA_BASE_URL: 'https://api.example.com/stemma',
      STEMMA_AUTH_URL: 'https://auth.example.com',
      STEMMA_DATA_DIR: '/var/lib/stemma',
      DATABASE_URL: database,
      STEMMA_SECRET_KEY: secret,
      STEMMA_DATABASE_CONNECTIONS: '3',
      STEMMA_ERROR_DOMAIN: 'iam.example.com',
      STEMMA_ORG_CREATION: 'nobody',
      STEMMA_REPO_CREATION: 'api',
      STEMMA_PUBLIC_REPOS: 'on',
      STEMMA_REGISTRY_RETENTION_INTERVAL: '5',
      STEMMA_CONTENT_DRIVER: 's3',
      STEMMA_S3_BUCKET: 'images',
      STEMMA_S3_PREFIX: 'stemma/prod',
      STEMMA_S3_ENDPOINT: 'https://minio.internal:9000',
      STEMMA_S3_PATH_STYLE: 'off',
      STEMMA_S3_SPOOL_DIR: '/var/spool/stemma',
      STEMMA_S3_REDIRECT: '300',
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'AKIA',
      AWS_SECRET_ACCESS_KEY: 'hunter2',
      AWS_SESSION_TOKEN: 'temporary',
      STEMMA_REGISTRY_GC_INTERVAL: '0',
      STEMMA_REGISTRY_GC_GRACE: '90',
      STEMMA_TOKEN_ALGORITHM: 'ES256',
      STEMMA_MAX_UPLOADS: 'caller=10',
      STEMMA_MAX_UPLOAD_BODIES: 'total=0, caller=3',
      STEMMA_MAX_PULLS: 'network=0',
      STEMMA_DEFAULT_LIMITS: 'groups=100',
      STEMMA_TERMS: 'tou.v1=https://example.com/terms, dpa',
      STEMMA_TRUSTED_ISSUERS: 'http://dex.internal:5556/dex, https://idp.internal/',
      STEMMA_CORS_ORIGINS: 'https://a.example.com, http://localhost:3000,',
      STEMMA_TRUSTED_PROXIES: '10.0.0.0/8, fd00::1',
      STEMMA_VENDOR_PREFIXES: 'chainguard., example.api.,chainguard.',
      STEMMA_PULL_EVENTS: 'manifests',
      STEMMA_EVENT_TYPE_PREFIX: 'dev.chainguard.',
      STEMMA_MAX_CONNECTIONS: '500',
      STEMMA_MAX_CONNECTIONS_PER_NETWORK: '50',
      STEMMA_RATE_READ: 'caller=100, address=0',
      STEMMA_RATE_LIST: '0',
      STEMMA_RATE_WRITE: 'organization=0.5',
      STEMMA_RATE_EXCHANGE: 'address=10,organization=20,caller=30',
      STEMMA_RATE_SIGN_IN: 'address=2.25',
      STEMMA_MAX_CALLS_PER_CALLER: '0',
      STEMMA_WORKERS: '3',
      STEMMA_LOG_LEVEL: 'debug',
      STEMMA_DRAIN_DELAY: '0',
    })
    assert.deepEqual(config, {
      port: 9000,
      metricsPort: 9090,
      hosts: ['0.0.0.0'],
      baseUrl: 'https://api.example.com/stemma',
      authUrl: 'https://auth.example.com',
      dataDir: '/var/lib/stemma',
      content: {
        driver: 's3',
        bucket: 'images',
        region: 'eu-central-1',
        endpoint: 'https://minio.internal:9000',
        pathStyle: false,
        prefix: 'stemma/prod',
        credentials: { accessKeyId: 'AKIA', secretAccessKey: 'hunter2', sessionToken: 'temporary' },
        redirectSeconds: 300,
        spoolFolder: '/var/spool/stemma',
      },
      databaseUrl: database,
      databaseConnections: 3,
      errorDomain: 'iam.example.com',
      secretKey: secret,
      organizationCreation: 'nobody',
      repoCreation: 'api',
      garbageCollection: { intervalMs: 0, graceMs: 5_400_000 },
      publicRepos: true,
      retentionIntervalMs: 300_000,
      freshSignInMs: 900_000,
      auditRetentionDays: 400,
      tokenAlgorithm: 'ES256',
      maxUploads: { caller: 10, organization: 5000 },
      maxUploadBodies: { caller: 3, total: 0 },
      maxPulls: { network: 0, total: 2048 },
      defaultLimits: [['groups', 100]],
      terms: [
        { id: 'tou.v1', url: 'https://example.com/terms' },
        { id: 'dpa', url: undefined },
      ],
      trustedIssuers: ['http://dex.internal:5556/dex', 'https://idp.internal/'],
      corsOrigins: ['https://a.example.com', 'http://localhost:3000'],
      trustedProxies: ['10.0.0.0/8', 'fd00::1'],
      vendorPrefixes: ['chainguard.', 'example.api.'],
      pullEvents: 'manifests',
      eventTypePrefix: 'dev.chainguard.',
      maxConnections: { perNetwork: 50, total: 500 },
      rates: {
        read: { caller: 100, organization: 10_000, address: 0 },
        list: { caller: 0, organization: 0, address: 0 },
        write: { caller: 500, organization: 0.5, address: 2000 },
        exchange: { caller: 30, organization: 20, address: 10 },
        'sign-in': { caller: 0, organization: 0, address: 2.25 },
      },
      maxCallsPerCaller: 0,
      workers: 3,
      tls: undefined,
      logLevel: 'debug',
      drainDelayMs: 0,
      warnings: [],
    })
  })

  test('are read from flags, which win over the environment; the last flag wins', () => {
    assert.equal(read({ PORT: '9000' }, '--port', '9001').port, 9001)
    assert.equal(read({}, '--port=1', '--port=2').port, 2)
    assert.equal(read({ STEMMA_LOG_LEVEL: 'debug' }, '--log-level=error').logLevel, 'error')
    assert.equal(
      read({ DATABASE_URL: database, STEMMA_SECRET_KEY: secret }, '--database-url=').databaseUrl,
      undefined,
    )
    assert.equal(read({ PORT: 'nonsense' }, '--port', '1').port, 1)
  })

  test('have their default if their variable is empty', () => {
    assert.equal(read({ PORT: '', HOST: '', STEMMA_LOG_LEVEL: '' }).port, 8080)
  })

  test('may be empty if an empty value turns something off', () => {
    assert.deepEqual(read({ STEMMA_VENDOR_PREFIXES: '' }).vendorPrefixes, [])
    assert.deepEqual(read({}, '--vendor-prefixes=').vendorPrefixes, [])
  })

  test('have a variable, a unique flag and a description each', () => {
    for (const { variable, flag, about } of Object.values(settings)) {
      assert.match(variable, /^(STEMMA_[A-Z0-9_]+|AWS_[A-Z_]+|PORT|HOST|DATABASE_URL)$/)
      assert.match(flag, /^[a-z0-9]+(-[a-z]+)*$/)
      assert.ok(about.length > 10)
    }
    const flags = Object.values(settings).map(({ flag }) => flag)
    assert.equal(new Set(flags).size, flags.length)
  })
})

describe('faults in the settings', () => {
  test('are all reported in one message', () => {
    const env = {
      PORT: 'http',
      HOST: 'a b',
      STEMMA_BASE_URL: 'example.com',
      DATABASE_URL: 'mysql://x',
      STEMMA_LOG_LEVEL: 'loud',
    }
    const faults = faultsOf(env, '--drain-delay=soon', '--bogus', '--wrong=1', '--org-creation')
    const names = [
      ...['there is no flag --bogus', 'there is no flag --wrong', '--org-creation needs a value'],
      ...['PORT (--port)', 'STEMMA_BASE_URL (--base-url)', 'DATABASE_URL (--database-url)'],
      ...['HOST (--host)', 'STEMMA_LOG_LEVEL (--log-level)', 'STEMMA_DRAIN_DELAY (--drain-delay)'],
    ]
    assert.equal(faults.length, names.length, faults.join('\n'))
    for (const name of names)
      assert.ok(
        faults.some((fault) => fault.startsWith(name)),
        name,
      )
  })

  test('include timeouts in the URL of the database, which would replace those of the server', () => {
    const url = `${database}?statement_timeout=0`
    assert.deepEqual(faultsOf({ DATABASE_URL: url, STEMMA_SECRET_KEY: secret }), [
      'DATABASE_URL (--database-url) must not contain statement_timeout: the server has a timeout for each kind of call',
    ])
  })

  test('in one flag do not affect how the other flags are read', () => {
    const faults = faultsOf({ DATABASE_URL: database }, '--secret-key', secret, '--bogus')
    assert.deepEqual(faults, ['there is no flag --bogus'])
  })

  test('include missing values and unknown flags', () => {
    assert.deepEqual(faultsOf({}, '--port'), ['--port needs a value'])
    assert.deepEqual(faultsOf({}, '--port', '--host=::1'), ['--port needs a value'])
    assert.deepEqual(faultsOf({}, '-p', '80'), ['there is no flag -p'])
    assert.deepEqual(faultsOf({}, '--__proto__', '--constructor=x'), [
      'there is no flag --__proto__',
      'there is no flag --constructor',
    ])
    assert.deepEqual(faultsOf({}, '--no-port'), ['there is no flag --no-port'])
  })

  test('never repeat a secret', () => {
    const secrets = ['hunter2', 'short secret', 'pa55word']
    const attempts = [
      faultsOf({ DATABASE_URL: 'mysql://u:hunter2@h', STEMMA_SECRET_KEY: 'short secret' }),
      faultsOf({ DATABASE_URL: 'postgres://u:hunter2@h:99999/x' }),
      faultsOf({}, '--database-url', 'hunter2', '--secret-key', 'short secret'),
      faultsOf({}, '--databaseurl=postgres://u:hunter2@h', '--secretkey=short secret'),
      faultsOf({}, '--bogus', '--secret-key=short secret', '--database-url=x:hunter2'),
      faultsOf({ STEMMA_BASE_URL: 'postgres://u:pa55word@h/x', STEMMA_AUTH_URL: 'https://u:pa55word@h' }),
      faultsOf({ STEMMA_BASE_URL: 'https://:pa55word@h' }),
      faultsOf({ DATABASE_URL: 'postgres://u:hunter2@h' }),
    ]
    for (const faults of attempts) {
      assert.ok(faults.length > 0)
      for (const word of secrets) assert.ok(!faults.join('\n').includes(word), faults.join('\n'))
    }
  })

  test('never repeat a secret of random letters and digits', () => {
    const password = fc.stringMatching(/^[A-Za-z0-9]{8,20}$/)
    fc.assert(
      fc.property(password, (word) => {
        const env = {
          DATABASE_URL: `postgre://u:${word}@h`,
          STEMMA_SECRET_KEY: word,
          STEMMA_BASE_URL: `http://u:${word}@h`,
        }
        assert.ok(!faultsOf(env, `--bogus=${word}`).join('\n').includes(word))
      }),
      { numRuns: 50 },
    )
  })

  test('quote and shorten the wrong value', () => {
    assertRejected('PORT', 'http\n', /not "http\\n"$/)
    assertRejected('STEMMA_LOG_LEVEL', 'x'.repeat(10_000), /^.{1,300}$/)
  })
})

describe('the values of settings', () => {
  test('PORT is a number from 0 to 65535', () => {
    for (const text of ['0', '65535']) assert.equal(read({ PORT: text }).port, Number(text))
    for (const text of ['-1', '65536', '80.5', '1e3', '0x50', ' 80', '80 ', '９', '99999999999']) {
      assertRejected('PORT', text, /must be a whole number from 0 to 65535/)
    }
  })

  test('HOST localhost means both loopback addresses; any other host is used as it is', () => {
    assert.deepEqual(read({ HOST: 'localhost' }).hosts, ['127.0.0.1', '::1'])
    for (const host of ['127.0.0.1', '::', '::1', 'api.example.com'])
      assert.deepEqual(read({ HOST: host }).hosts, [host])
    for (const host of ['a b', '127.0.0.1,::1', 'http://x', 'x/y', 'x\n', 'x'.repeat(254)]) {
      assertRejected('HOST', host, /must be a host name or an address/)
    }
  })

  test('a reachable HOST without a base URL yields a warning about the audience of tokens', () => {
    for (const host of ['0.0.0.0', '::', '10.0.0.7', 'api.example.com']) {
      const [warning = '', ...others] = read({ HOST: host, PORT: '9000' }).warnings
      assert.deepEqual(others, [])
      assert.match(warning, /STEMMA_BASE_URL is not set.*the audience http:\/\/localhost:9000,/)
      assert.ok(warning.startsWith(`HOST is ${host} `) && !warning.includes('\n'), warning)
      assert.deepEqual(read({ HOST: host, STEMMA_BASE_URL: 'http://localhost:8080' }).warnings, [])
    }
    for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1'])
      assert.deepEqual(read({ HOST: host }).warnings, [])
  })

  test('a variable whose name resembles that of a setting yields a warning', () => {
    for (const [name, meant] of [
      ['STEMMA_DATABASE_URL', 'DATABASE_URL'],
      ['STEMMA_PORT', 'PORT'],
      ['STEMMA_RATE_LISTS', 'STEMMA_RATE_LIST'],
      ['STEMMA_WORKER', 'STEMMA_WORKERS'],
      ['STEMMA_DRAINDELAY', 'STEMMA_DRAIN_DELAY'],
    ] as const)
      assert.deepEqual(read({ [name]: '1' }).warnings, [
        `${name} has no effect, because the setting is called ${meant}`,
      ])
    // Variables of the command line, of the tests and of Kubernetes, and those of other programs.
    for (const name of [
      'STEMMA_TOKEN',
      'STEMMA_API',
      'STEMMA_ISSUER',
      'STEMMA_TEST_POSTGRES',
      'STEMMA',
      'PROT',
    ])
      assert.deepEqual(read({ [name]: '1' }).warnings, [], name)
    assert.deepEqual(
      read({ STEMMA_PORT: 'tcp://10.0.0.1:8080', STEMMA_SERVICE_HOST: '10.0.0.1' }).warnings,
      [],
    )
    assert.deepEqual(read({ STEMMA_WORKERS: '2', DATABASE_URL: '' }).warnings, [])
  })

  test('STEMMA_BASE_URL and STEMMA_AUTH_URL are http or https URLs without query, user or final slash', () => {
    for (const url of [
      'http://localhost:8080',
      'https://api.example.com',
      'https://api.example.com/stemma',
      'http://[::1]:80',
    ]) {
      assert.equal(read({ STEMMA_BASE_URL: url }).baseUrl, url)
      assert.equal(read({ STEMMA_AUTH_URL: url }).authUrl, url)
    }
    const wrong = [
      'api.example.com',
      'ftp://x',
      'https://x/',
      'https://x?a',
      'https://x?',
      'https://x#a',
      'https://x#',
    ]
    for (const url of [
      ...wrong,
      'https://u@x',
      'https://:p@x',
      'https://x\n',
      ' https://x',
      'https://x/a"b',
      'https://',
      'javascript:1',
    ]) {
      for (const variable of ['STEMMA_BASE_URL', 'STEMMA_AUTH_URL'])
        assertRejected(variable, url, /must be an http or https URL/)
    }
  })

  test('the base URL defaults to localhost with the port, and the auth URL to the base URL', () => {
    assert.equal(read({ PORT: '9000' }).baseUrl, 'http://localhost:9000')
    assert.equal(read({ STEMMA_BASE_URL: 'https://a.test' }).authUrl, 'https://a.test')
  })

  test('DATABASE_URL is a postgres:// URL and requires a secret key', () => {
    for (const url of ['postgres://h/d', 'postgresql://u:p@h:5432/d?sslmode=require']) {
      assert.equal(read({ DATABASE_URL: url, STEMMA_SECRET_KEY: secret }).databaseUrl, url)
    }
    for (const url of ['mysql://h', 'h', 'postgres:h', 'http://h'])
      assertRejected('DATABASE_URL', url, /must be a postgres:\/\/ URL$/)
    assert.match(
      faultsOf({ DATABASE_URL: database })[0] ?? '',
      /^STEMMA_SECRET_KEY \(--secret-key\) is required/,
    )
  })

  test('STEMMA_SECRET_KEY has at least 32 characters', () => {
    assert.equal(read({ STEMMA_SECRET_KEY: 'x'.repeat(32) }).secretKey, 'x'.repeat(32))
    assertRejected('STEMMA_SECRET_KEY', 'x'.repeat(31), /must be at least 32 characters long$/)
    assert.equal(faultsOf({ DATABASE_URL: database, STEMMA_SECRET_KEY: 'x' }).length, 1)
  })

  test('STEMMA_ORG_CREATION, STEMMA_TOKEN_ALGORITHM and STEMMA_LOG_LEVEL accept only listed words', () => {
    assertRejected(
      'STEMMA_ORG_CREATION',
      'everybody',
      /must be one of people, anyone, nobody, not "everybody"$/,
    )
    for (const algorithm of ['none', 'HS256', 'es256', 'PS256'])
      assertRejected('STEMMA_TOKEN_ALGORITHM', algorithm, /must be one of RS256, ES256, not /)
    assertRejected('STEMMA_LOG_LEVEL', 'constructor', /must be one of trace, /)
  })

  test('STEMMA_TRUSTED_PROXIES are addresses or networks', () => {
    for (const network of [
      'proxy.test',
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0.0/8/8',
      '10.0.0/8',
      '*',
      '10.0.0.1:80',
    ])
      assertRejected('STEMMA_TRUSTED_PROXIES', `10.0.0.0/8,${network}`, /must be addresses or networks/)
  })

  test('STEMMA_VENDOR_PREFIXES are at most ten package prefixes that end in a dot', () => {
    for (const prefix of [
      'chainguard',
      '.',
      'a..',
      '.a.',
      'A.',
      'a/b.',
      '1a.',
      'a b.',
      'a.b',
      'é.',
      'a.'.repeat(6),
    ])
      assertRejected('STEMMA_VENDOR_PREFIXES', `ok.,${prefix}`, /must be package prefixes that end in a dot/)
    const many = Array.from({ length: 11 }, (_, at) => `p${at}.`).join()
    assertRejected('STEMMA_VENDOR_PREFIXES', many, /must be at most 10 prefixes, not 11/)
  })

  test('STEMMA_EVENT_TYPE_PREFIX is a prefix that ends in a dot', () => {
    for (const prefix of ['dev.stemma', '.', 'Dev.', 'dev..', 'a b.', 'dev.stemma.,dev.other.'])
      assertRejected('STEMMA_EVENT_TYPE_PREFIX', prefix, /must be a prefix of types that ends in a dot/)
  })

  test('STEMMA_RATE_READ and other rates are 0, or calls per second for scopes that their default contains', () => {
    const texts = [
      '100',
      'caller',
      'caller=',
      'caller=-1',
      'caller=1e3',
      'caller=1/s',
      'user=1',
      'aller=1',
      'address=99999999',
    ]
    for (const text of [...texts, 'caller=1,address=x', 'caller=0.0001', 'constructor=1'])
      assertRejected(
        'STEMMA_RATE_READ',
        text,
        /must be 0 or calls per second .*caller=2000,organization=10000/,
      )
    assertRejected('STEMMA_RATE_SIGN_IN', 'caller=1', /such as address=100, not "caller=1"$/)
  })

  test('STEMMA_MAX_UPLOADS accepts only whole numbers for caller and organization', () => {
    for (const text of ['10', 'total=1', 'caller=-1', 'caller=1000001', 'caller=1,caller=x'])
      assertRejected('STEMMA_MAX_UPLOADS', text, /whole numbers .* caller=1000,organization=5000/)
  })

  test('STEMMA_DEFAULT_LIMITS are names and whole numbers', () => {
    assert.deepEqual(
      read({ STEMMA_DEFAULT_LIMITS: 'groups=100, repos = 0,role-bindings=2147483647' }).defaultLimits,
      [
        ['groups', 100],
        ['repos', 0],
        ['role-bindings', 2147483647],
      ],
    )
    for (const text of [
      'groups',
      'groups=',
      '=5',
      'groups=-1',
      'groups=1.5',
      'groups=2147483648',
      'a=b',
      'gr oups=1',
    ])
      assertRejected(
        'STEMMA_DEFAULT_LIMITS',
        `repos=1,${text}`,
        /must be names and whole numbers up to 2147483647/,
      )
  })

  test('STEMMA_TERMS are ids with optional URLs', () => {
    for (const text of [
      'a b',
      '=https://x.test',
      'tou=',
      'tou=ftp://x.test',
      'tou=x',
      `${'x'.repeat(129)}`,
      '-x',
    ])
      assertRejected('STEMMA_TERMS', `dpa,${text}`, /must be ids with optional URLs/)
    assertRejected('STEMMA_TERMS', 'dpa,tou,dpa', /must contain each id once/)
    const many = Array.from({ length: 51 }, (_, at) => `d${at}`).join(',')
    assertRejected('STEMMA_TERMS', many, /at most 50 documents/)
  })

  test('STEMMA_CORS_ORIGINS are origins as browsers send them', () => {
    for (const origin of ['*', 'null', 'https://a.test/', 'https://a.test/x', 'a.test', 'HTTPS://A.TEST']) {
      assertRejected('STEMMA_CORS_ORIGINS', `https://ok.test,${origin}`, /must be origins such as/)
    }
  })

  test('error domain, connections, drain delay and data folder are checked', () => {
    assertRejected('STEMMA_ERROR_DOMAIN', 'Iam.Example', /must be a domain name/)
    assertRejected('STEMMA_DATABASE_CONNECTIONS', '0', /from 1 to 1000/)
    assertRejected('STEMMA_MAX_CONNECTIONS', '0', /from 1 to 1000000/)
    assertRejected('STEMMA_MAX_CONNECTIONS_PER_NETWORK', 'many', /from 1 to 1000000/)
    assertRejected('STEMMA_DRAIN_DELAY', '601', /from 0 to 600/)
    assertRejected('STEMMA_MAX_CALLS_PER_CALLER', '-1', /from 0 to 1000000/)
    assert.match(faultsOf({}, '--data-dir=')[0] ?? '', /^STEMMA_DATA_DIR \(--data-dir\) must be a folder/)
  })
})

describe('TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stemma-config-'))
  after(() => rmSync(folder, { recursive: true }))
  const [cert, key] = [certFile, keyFile]

  test('is on if certificate and key are set, and makes the default base URL https', () => {
    const config = read({ STEMMA_TLS_CERT: cert, STEMMA_TLS_KEY: key })
    assert.match(config.tls?.cert ?? '', /BEGIN CERTIFICATE/)
    assert.equal(config.baseUrl, 'https://localhost:8080')
  })

  test('requires both files', () => {
    for (const env of [{ STEMMA_TLS_CERT: cert }, { STEMMA_TLS_KEY: key }]) {
      assert.deepEqual(faultsOf(env), ['STEMMA_TLS_CERT and STEMMA_TLS_KEY must be set together'])
    }
  })

  test('requires readable PEM files that belong together, and never shows their content', () => {
    const garbage = join(folder, 'garbage.pem')
    writeFileSync(garbage, 'private words')
    const pairs = [
      [join(folder, 'absent.pem'), key],
      [cert, garbage],
      [garbage, key],
      [key, cert],
    ]
    for (const [STEMMA_TLS_CERT = '', STEMMA_TLS_KEY = ''] of pairs) {
      const [fault = '', ...others] = faultsOf({ STEMMA_TLS_CERT, STEMMA_TLS_KEY })
      assert.deepEqual(others, [])
      assert.match(fault, /^STEMMA_TLS_CERT and STEMMA_TLS_KEY must be PEM files that belong together: /)
      assert.doesNotMatch(fault, /private words|BEGIN/)
    }
  })
})

describe('flags of a command', () => {
  test('are read besides the settings, with the remaining arguments', () => {
    const flagTypes = { org: { type: 'string' }, json: { type: 'boolean' } } as const
    const { config, flags, positionals } = readConfig(
      {},
      ['--org', 'acme', 'more', '--json', '--port=1', '--', '--x'],
      flagTypes,
    )
    assert.equal(config.port, 1)
    assert.equal(flags.org, 'acme')
    assert.equal(flags.json, true)
    assert.deepEqual(positionals, ['more', '--x'])
  })

  test('are unknown to other commands, and boolean flags take no value', () => {
    assert.throws(() => readConfig({}, ['--json']), /there is no flag --json/)
    assert.throws(
      () => readConfig({}, ['--json=yes'], { json: { type: 'boolean' } }),
      /--json takes no value/,
    )
  })
})
