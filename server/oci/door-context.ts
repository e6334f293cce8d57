// Types that the endpoints of the registry share.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DescMethod } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Corridor, Envelope } from '../wire/envelope.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import type { BodyBudget } from './body-budget.ts'
import type { LostBlobs } from './lost-blobs.ts'
import type { RunningTransfers } from './running-transfers.ts'
import type { MinimumRate } from './slow-body.ts'

type Endpoint = { method: Method }

/** The result of looking up the name of a repo. */
export type FoundRepo =
  | { kind: 'repo'; uid: string }
  /** No such repo. `group` is the deepest existing group of the name, and `rest` the name that the repo would have. */
  | { kind: 'missing'; group: string; rest: string }
  /** A part of the name fits several groups, which `groups` lists. */
  | { kind: 'ambiguous'; groups: string[] }
  /** No organization fits the first part of the name. */
  | { kind: 'nothing' }

export type RegistryDependencies = {
  corridor: Corridor<Endpoint>
  endpointOf(method: DescMethod): Endpoint
  /** Does not check access. */
  findRepo(name: string): MaybePromise<FoundRepo>
  now(): number
  blobs: BlobStore
  lostBlobs: LostBlobs
  /** The URL of this server, for challenges. */
  baseUrl: string
  /** Path segments that mark calls outside the OCI protocol: `_stemma`, and those of vendors. */
  extensions: ReadonlySet<string>
  /** Whether a push to a repo that does not exist creates it. */
  createsRepos: boolean
  /** Called for failures that the corridor does not report: failures of the storage, and bugs in this room. */
  onError(error: unknown): void
  /** Called before a body is read. Sends 100 Continue if the client waits for it. */
  onBody(request: IncomingMessage, response: ServerResponse): void
  /** Called before the body of an upload is read, which may take longer than other requests. */
  onLongBody(request: IncomingMessage): void
  runningUploads: RunningTransfers
  runningPulls: RunningTransfers
  bodyBudget: BodyBudget
  minimumRate: MinimumRate
}

/** One request and its response. `name` is the name of the repo as the client wrote it; empty if it named none. */
export type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  /** The headers of every response: a flat list of names and values. */
  headers: readonly string[]
  name: string
  query: URLSearchParams
  envelope: Envelope
}

export type RegistryResponse = {
  status: number
  headers?: Record<string, string | string[]>
  body?: string | Uint8Array
  /** The size of a body that is not sent, for the response to HEAD. */
  size?: number
}

/** Handles a request. Returns the response, or undefined if it has written the response itself. */
export type EndpointHandler = (
  deps: RegistryDependencies,
  exchange: Exchange,
) => MaybePromise<RegistryResponse | undefined>
