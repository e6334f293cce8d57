import type { JsonObject } from '@bufbuild/protobuf'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { PageSeals } from '../aip/page-token.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { IssuerRule } from '../claims/issuer.ts'
import type { PatternToCheck, PatternVerdict } from '../claims/pattern-rule.ts'
import type { TrustTask } from '../claims/trust.ts'
import type { RandomBytes } from '../crypto/random.ts'
import type { Demand, WriteGrants } from '../policy/admit.ts'
import type { Call, SentKey } from '../rpc/call.ts'
import type { Store } from '../store/db.ts'
import type { Work } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import type { Reply } from '../wire/reply.ts'

/** Passed to the methods of every resource. */
export type Dependencies = {
  store: Store
  /** Whether calls only validate: the store rolls back every write. */
  validatesOnly: boolean
  pageSeals: PageSeals
  now(): number
  random: RandomBytes
  settings: Settings
  checks: Checks
  /** How many rows a list may read in this thread; expensive lists run in the lane. Undefined: no limit. */
  maxListRows: number | undefined
  idempotency: Idempotency
  /** The bytes of blobs. They are read and written outside of transactions. */
  content: { open(): Promise<BlobStore> }
  recordPull: PullLog
}

/** Records a pull in the event log. It is written later, so the call itself runs no SQL for it. */
export type PullLog = (demand: Demand, pull: Pull) => void

/**
 * `reference` is the digest or tag in the request. `digest` is the digest of the content; empty if
 * the content does not exist.
 */
export type Pull = { type: 'manifest' | 'blob'; reference: string; digest: string; error?: unknown }

/**
 * The two steps of a create. A repeated call runs only `admit`, so a caller who has lost access does not get the stored
 * response.
 */
export type Creation = {
  admit(): Work<WriteGrants>
  create(grants: WriteGrants): Work<Reply>
}

/** Implemented in the folder idempotency. */
export type Idempotency = {
  /** Runs the creation, or returns the stored response of the first call with the same key. */
  run(store: Store, call: Call, sent: SentKey, creation: Creation): Promise<Reply>
}

/**
 * Checks and parsers, some of which take very long even if the input is short. They run in threads, with a time limit.
 * `caller` is the uid of an identity; only a few checks of one caller run at a time.
 */
export type Checks = {
  readmeFault(content: string, caller: string): Promise<string | undefined>
  /** The verdict on each pattern, in the same order. */
  judgePatterns(patterns: readonly PatternToCheck[], caller: string): Promise<PatternVerdict[]>
  /** The SBOM in a blob. Undefined if it contains none, or if reading it takes too long. */
  readSbom(content: Uint8Array, wanted: Sbom['kind'], caller: string): Promise<Sbom | undefined>
  /** The Helm chart in two blobs. Undefined if they contain none, or if reading them takes too long. */
  readChart(config: Uint8Array, archive: Uint8Array, caller: string): Promise<ChartContent | undefined>
  /** Whether each identity trusts the subject at the same position. Undefined if the check takes too long. */
  trust(task: Omit<TrustTask, 'kind'>, caller: string): Promise<boolean[] | undefined>
}

/** The packages of an SBOM, or the document itself as JSON. */
export type Sbom = { kind: 'packages'; packages: SbomPackage[] } | { kind: 'document'; document: string }

/** The metadata of a Helm chart, and the texts of its files. */
export type ChartContent = {
  name: string
  version: string
  appVersion: string
  description: string
  dependencies: { name: string; version: string; repository: string }[]
  annotations: Record<string, string>
  images: { name: string; image: string }[]
  raw: string
  values: string
  changelog: string
}

/** `buildTime` is in milliseconds since 1970. */
export type SbomPackage = { purl: string; originPurl: string; license: string; buildTime?: number }

/** For functions that write, whether on behalf of a caller, the operator or sign-in. */
export type WriteContext = Pick<Dependencies, 'now' | 'random'> & { access: WriteAccess }

export type Settings = {
  /** Who may create organizations over the API. */
  organizationCreation: 'people' | 'anyone' | 'nobody'
  /** Whether everybody may pull from repos that are public. */
  publicRepos: boolean
  issuerRule: IssuerRule
  /** The URL of the API. */
  baseUrl: string
  /** The issuer of this server's own tokens. */
  authUrl: string
  /** The SCIM endpoint of an identity provider has this URL, followed by a slash and the uid of the provider. */
  scimUrl: string
  /** Encrypts the client secret of an identity provider. */
  sealSecret(plain: string): string
  /** Encrypts the secret of a subscription. */
  sealWebhookSecret(plain: string): string
  /** Put before the types of events, such as `dev.stemma.`. */
  eventTypePrefix: string
  advisoryFormats: AdvisoryFormats
  limits: GroupLimits
  /** How many uploads of blobs may be begun and not finished; 0 for any number. */
  maxUploads: { caller: number; organization: number }
  terms: readonly TermsDocument[]
  /**
   * The maximum age of the sign-in of people who change owners, and of operators who change people
   * or keys.
   */
  freshSignInMs: number
  /** How long content of the registry to which nothing refers is kept, in milliseconds. */
  contentGraceMs: number
}

/** A document that groups can accept. */
export type TermsDocument = { id: string; url: string | undefined }

/** Limits on the number of resources in a group. */
export type GroupLimits = {
  /** The kinds that can be limited. */
  kinds: readonly string[]
  /** The limits of organizations that have none of their own, by kind. */
  defaults: ReadonlyMap<string, number>
}

/** Converts advisories to the formats of other tools. */
export type AdvisoryFormats = {
  osv(advisory: Advisory, source: AdvisorySource | undefined): JsonObject
  openVex(advisory: Advisory): JsonObject
}

/** The record that an advisory was imported from, and the time when its import last changed the advisory. */
export type AdvisorySource = { format: string; record: string; importTime: number }
