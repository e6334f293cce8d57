// The settings of stemmad. Each is an environment variable and a flag of every command; `npm run generate` writes
// them to docs/configuration.md.

export type Setting = {
  variable: string
  flag: string
  about: string
  /** The default, as text. */
  defaultText: string
  /** If true, an empty variable means an empty value; otherwise it means that the setting is not set. */
  mayBeEmpty: boolean
}

const setting = (variable: string, defaultText: string, about: string, mayBeEmpty = false): Setting => ({
  variable,
  flag: variable
    .replace(/^STEMMA_/, '')
    .toLowerCase()
    .replaceAll('_', '-'),
  about,
  defaultText,
  mayBeEmpty,
})

const rateSetting = (name: string, defaultText: string, calls: string) =>
  setting(`STEMMA_RATE_${name}`, defaultText, `how many ${calls} are allowed in a second; 0 for any number`)

export const settings = {
  port: setting('PORT', '8080', 'the port that serves everything'),
  metricsPort: setting(
    'STEMMA_METRICS_PORT',
    '',
    'a separate port for /metrics; without it, the main port serves /metrics',
  ),
  host: setting('HOST', 'localhost', 'the address to listen on; localhost means 127.0.0.1 and ::1'),
  baseUrl: setting(
    'STEMMA_BASE_URL',
    '',
    'the URL at which clients reach the API; also the audience of access tokens',
  ),
  authUrl: setting(
    'STEMMA_AUTH_URL',
    '',
    'the URL at which clients reach the token issuer; default: the base URL',
  ),
  dataDir: setting(
    'STEMMA_DATA_DIR',
    './data',
    'the folder of the embedded store and of the images in repos',
  ),
  contentDriver: setting(
    'STEMMA_CONTENT_DRIVER',
    'files',
    'where the content of repos is stored: files (in the data folder) or s3 (S3, or a server that speaks its protocol)',
  ),
  s3Bucket: setting('STEMMA_S3_BUCKET', '', 'the bucket of the content; it must exist'),
  s3Prefix: setting('STEMMA_S3_PREFIX', '', 'a prefix of all object keys, so that a bucket can be shared'),
  s3Region: setting('AWS_REGION', 'us-east-1', 'the region of the bucket'),
  s3Endpoint: setting('STEMMA_S3_ENDPOINT', '', 'the URL of the S3 server; default: AWS in the region'),
  s3PathStyle: setting(
    'STEMMA_S3_PATH_STYLE',
    'auto',
    'whether the bucket is in the path of URLs rather than in the host: on, off, or auto, which is on if there is an endpoint',
  ),
  s3AccessKeyId: setting('AWS_ACCESS_KEY_ID', '', 'the id of a static key for S3'),
  s3SecretAccessKey: setting('AWS_SECRET_ACCESS_KEY', '', 'the secret of the static key'),
  s3SecretAccessKeyFile: setting(
    'AWS_SECRET_ACCESS_KEY_FILE',
    '',
    'a file with the secret of the static key, in place of the variable',
  ),
  s3SessionToken: setting('AWS_SESSION_TOKEN', '', 'the token of a static key that is temporary'),
  s3RoleArn: setting(
    'AWS_ROLE_ARN',
    '',
    'the role for S3 that the server assumes with its workload token, if there is no static key',
  ),
  s3TokenFile: setting(
    'AWS_WEB_IDENTITY_TOKEN_FILE',
    '',
    'the file of the workload token; it is read again when the token is needed',
  ),
  s3StsEndpoint: setting(
    'STEMMA_S3_STS_ENDPOINT',
    '',
    'the URL at which the workload token is exchanged; default: AWS in the region',
  ),
  s3SpoolDir: setting(
    'STEMMA_S3_SPOOL_DIR',
    '',
    'a local folder for running uploads, which take up to 32 MiB each; default: spool in the data folder',
  ),
  s3Redirect: setting(
    'STEMMA_S3_REDIRECT',
    '0',
    'lifetime in seconds of the URLs with which clients read blobs from S3 directly; 0 if the server sends all content itself',
  ),
  databaseUrl: setting('DATABASE_URL', '', 'postgres://… to use PostgreSQL in place of the embedded store'),
  databaseConnections: setting(
    'STEMMA_DATABASE_CONNECTIONS',
    '10',
    'the maximum number of connections of a copy to PostgreSQL, divided among its workers; each has at least two',
  ),
  errorDomain: setting('STEMMA_ERROR_DOMAIN', 'iam.stemma.dev', 'the domain in the ErrorInfo of errors'),
  secretKey: setting('STEMMA_SECRET_KEY', '', 'encrypts keys and secrets at rest; required with PostgreSQL'),
  organizationCreation: setting(
    'STEMMA_ORG_CREATION',
    'people',
    'who may create organizations: people (and owners that stemmad bootstrap creates), anyone (these, and workloads that own an organization) or nobody',
  ),
  tokenAlgorithm: setting(
    'STEMMA_TOKEN_ALGORITHM',
    'RS256',
    'the algorithm that signs access tokens: RS256, which every verifier supports, or ES256, which takes less CPU time',
  ),
  repoCreation: setting(
    'STEMMA_REPO_CREATION',
    'push',
    'what creates repos: push (a push to a repo that does not exist, and the API) or api (only the API)',
  ),
  collectionInterval: setting(
    'STEMMA_REGISTRY_GC_INTERVAL',
    '60',
    'minutes between garbage collections of the registry, which delete content to which nothing refers; 0 for none',
  ),
  collectionGrace: setting(
    'STEMMA_REGISTRY_GC_GRACE',
    '1440',
    'minutes for which content of the registry is kept after the last reference to it is gone',
  ),
  publicRepos: setting(
    'STEMMA_PUBLIC_REPOS',
    'off',
    'whether everybody can pull from repos that are public, also without credentials: on or off',
  ),
  maxUploads: setting(
    'STEMMA_MAX_UPLOADS',
    'caller=1000,organization=5000',
    'how many uploads of blobs one caller, and all callers in an organization, may have begun and not finished; 0 for any number',
  ),
  maxUploadBodies: setting(
    'STEMMA_MAX_UPLOAD_BODIES',
    'caller=64,total=512',
    'how many uploads of one caller, and of all callers, may arrive at a time at a worker; one organization may have a quarter of the total, or as many as one caller if that is more; each takes up to 1 MiB of memory; 0 for any number',
  ),
  maxPulls: setting(
    'STEMMA_MAX_PULLS',
    'network=512,total=2048',
    'how many blobs a worker sends at a time to one client network (an IPv4 address or an IPv6 /64), and to all clients; blobs from the repos of one organization may be a quarter of the total, or as many as for one network if that is more; pulls that are redirected to S3 do not count; 0 for any number',
  ),
  retentionInterval: setting(
    'STEMMA_REGISTRY_RETENTION_INTERVAL',
    '1440',
    'minutes between two applications of the retention rules of a repo; 0 for none',
  ),
  freshSignIn: setting(
    'STEMMA_FRESH_SIGN_IN',
    '15',
    'minutes after which people must sign in again to change their second factors, to change who owns an organization or, as operators, to change people and signing keys',
  ),
  auditRetention: setting(
    'STEMMA_AUDIT_RETENTION',
    '400',
    'days for which entries of the audit log are kept; 0 for ever',
  ),
  defaultLimits: setting(
    'STEMMA_DEFAULT_LIMITS',
    '',
    'default limits on the number of resources in an organization, such as groups=100,repos=1000; a limit of the organization on the same kind takes precedence',
  ),
  terms: setting(
    'STEMMA_TERMS',
    '',
    'documents that callers can accept for a group, by id and optionally URL, such as terms-of-use.v1=https://example.com/terms; separated by commas',
  ),
  trustedIssuers: setting(
    'STEMMA_TRUSTED_ISSUERS',
    '',
    'token issuers to trust that have no public https URL, separated by commas',
  ),
  corsOrigins: setting(
    'STEMMA_CORS_ORIGINS',
    '',
    'web origins that may call the API from a browser, separated by commas',
  ),
  trustedProxies: setting(
    'STEMMA_TRUSTED_PROXIES',
    '',
    'addresses or networks whose X-Forwarded-For is trusted, separated by commas',
  ),
  vendorPrefixes: setting(
    'STEMMA_VENDOR_PREFIXES',
    'chainguard.',
    'prefixes that clients may put before our gRPC names, separated by commas; empty for none',
    true,
  ),
  pullEvents: setting(
    'STEMMA_PULL_EVENTS',
    'all',
    'which pulls from the registry are recorded as events: all, manifests (no blobs) or none',
  ),
  eventTypePrefix: setting(
    'STEMMA_EVENT_TYPE_PREFIX',
    'dev.stemma.',
    'a prefix of the types of events; existing receivers of the public platform need dev.chainguard. here, and chainguard. in STEMMA_VENDOR_PREFIXES',
  ),
  maxConnections: setting(
    'STEMMA_MAX_CONNECTIONS',
    '10000',
    'how many connections of clients a copy may have, divided among its workers; at the limit, the server refuses a new one, or closes another to accept it',
  ),
  maxConnectionsPerNetwork: setting(
    'STEMMA_MAX_CONNECTIONS_PER_NETWORK',
    '1000',
    'how many connections of a copy may come from one IPv4 address or one IPv6 /64, divided among its workers; does not apply to trusted proxies',
  ),
  workers: setting(
    'STEMMA_WORKERS',
    '1',
    'how many threads serve calls: a number, or auto for one per core; more than one needs Linux',
  ),
  rateRead: rateSetting(
    'READ',
    'caller=2000,organization=10000,address=10000',
    'reads (calls that return a single resource)',
  ),
  rateList: rateSetting('LIST', 'caller=500,organization=2000,address=2000', 'lists, searches and exports'),
  rateWrite: rateSetting('WRITE', 'caller=500,organization=2000,address=2000', 'changes'),
  rateExchange: rateSetting('EXCHANGE', 'caller=100,organization=500,address=500', 'exchanges of tokens'),
  rateSignIn: rateSetting('SIGN_IN', 'address=100', 'requests to the pages and endpoints of sign-in'),
  maxCallsPerCaller: setting(
    'STEMMA_MAX_CALLS_PER_CALLER',
    '250',
    'how many calls of one caller may run at a time on each worker; 0 for any number',
  ),
  tlsCert: setting('STEMMA_TLS_CERT', '', 'a PEM file with the certificate chain; turns TLS on'),
  tlsKey: setting('STEMMA_TLS_KEY', '', 'a PEM file with the private key of the certificate'),
  logLevel: setting(
    'STEMMA_LOG_LEVEL',
    'info',
    'the log level: trace, debug, info, warn, error, fatal or silent',
  ),
  drainDelay: setting(
    'STEMMA_DRAIN_DELAY',
    '5',
    'for how many seconds a stopping server still accepts calls',
  ),
} as const

export type SettingKey = keyof typeof settings
