// Everything behind the doors: the store with its keys, the endpoints and the corridors. Each thread that performs
// calls has its own core.
import { randomBytes } from 'node:crypto'
import { openPageSeals } from './aip/page-token.ts'
import type { KeyRing } from './auth/keys/key-ring.ts'
import type { MakeRsaKey } from './auth/keys/rsa-key.ts'
import type { Authentication, AuthenticationOverrides } from './authentication.ts'
import { openAuthentication } from './authentication.ts'
import { openBufferedEvents, openIssuedTokenLog, openRefusalRecorder } from './buffered-events.ts'
import { openChecks } from './checks.ts'
import { structuredJson } from './cloud-events/http-message.ts'
import type { Config } from './config/config.ts'
import type { ContentStorage } from './content-storage.ts'
import { contentStorage } from './content-storage.ts'
import type { Corridors } from './corridors.ts'
import { openCorridors } from './corridors.ts'
import type { RandomBytes } from './crypto/random.ts'
import { pooled } from './crypto/random.ts'
import type { Secret } from './crypto/secret.ts'
import { withCommitHook } from './events/commit-hook.ts'
import type { SealSignal } from './events/seal-signal.ts'
import { openSealSignal } from './events/seal-signal.ts'
import type { Sealer } from './events/sealer.ts'
import { openSealer } from './events/sealer.ts'
import type { Parties } from './fair-queueing/parties.ts'
import { partyOfCaller } from './fair-queueing/parties.ts'
import { proxyTest } from './http/client-address.ts'
import type { Mount } from './http/dispatch.ts'
import type { KnownNetworks } from './http/turns/known-networks.ts'
import { openKnownNetworks } from './http/turns/known-networks.ts'
import type { Turns } from './http/turns/turns.ts'
import { openTurns } from './http/turns/turns.ts'
import { openCallLimits } from './limits/rate/call-limits.ts'
import type { SharedLimits } from './limits/sharing/shared-usage.ts'
import type { Log } from './log.ts'
import { cloudEventsOf } from './outgoing-events.ts'
import { openProvisioning } from './provisioning.ts'
import { resources } from './resource-list.ts'
import type { AuditDependencies } from './resources/audit/service.ts'
import type { EventTail } from './resources/events/tail/tail-events.ts'
import { openIdempotency } from './resources/idempotency/idempotency.ts'
import { heldAccess } from './resources/registry/content/held-access.ts'
import { openPullLog } from './resources/registry/content/record-pull.ts'
import { withStatusErrors } from './resources/store-errors.ts'
import type { Endpoint } from './rpc/call.ts'
import { openDeadlines } from './rpc/deadline.ts'
import type { RefusalLog, RefusalLogOptions } from './rpc/refusal-log.ts'
import { openRefusalLog } from './rpc/refusal-log.ts'
import type { UnsentLimits } from './rpc/unsent-budget.ts'
import { openUnsentBudget } from './rpc/unsent-budget.ts'
import { serverFactsOf } from './server-facts.ts'
import { endpointsOf } from './services.ts'
import { groupLimitsOf, settingsOf } from './settings.ts'
import { openKeys, prepareStore } from './storage.ts'
import type { Store } from './store/db.ts'
import { wakeQueuesOf } from './store/delivery/queues.ts'
import type { PoolOptions } from './threads/pool.ts'
import type { OtherThreads } from './wire/other-thread.ts'
import type { BackgroundCounts } from './workers/background-counts.ts'

/** Dependencies and limits that tests and some commands replace. */
export type CoreOverrides = AuthenticationOverrides & {
  now?: () => number
  random?: RandomBytes
  makeRsaKey?: MakeRsaKey | undefined
  checkLimits?: Partial<PoolOptions>
  refusalLog?: Partial<RefusalLogOptions>
  /** A monotonic clock in milliseconds, for the duration and the rate of calls. */
  clock?: () => number
  /** Maximum bytes of large responses that clients have not read yet. */
  unsentLimits?: Partial<UnsentLimits>
  /** How often a stream without events sends something. */
  tailHeartbeatMs?: number | undefined
}

export type CoreOptions = {
  config: Config
  log: Log
  store: Store
  /** Whether another thread of this process has migrated the store. */
  isPrepared?: boolean
  /** With PostgreSQL: says for which party the running code works, because parties share the connections. */
  parties?: Parties | undefined
  /** The threads to which this one hands calls over. Undefined if it performs all calls itself. */
  otherThreads?: OtherThreads
  /** How many rows a list may read in this thread. Lists that read more are handed to the lane. */
  maxListRows: number | undefined
  /** Counts events that were dropped, for the metrics. */
  counts?: BackgroundCounts
}

export type Core = Corridors & {
  /** The store. It converts its errors to those that callers get (store-errors.ts). */
  store: Store
  /** The bytes of the registry. */
  content: ContentStorage
  /** SCIM and sign-in, which have their own paths. */
  mounts: readonly Mount[]
  endpoints: readonly Endpoint[]
  states: Authentication['states']
  /** Shares rate limits with other copies and threads. */
  sharedLimits: SharedLimits
  clock(): number
  /** Decides when calls start. */
  turns: Turns
  knownNetworks: KnownNetworks
  refusals: RefusalLog
  keys: KeyRing
  secret: Secret
  sealer: Sealer
  /** Notified when events are sealed. Streams of events end when it is closed. */
  sealSignal: SealSignal
  now(): number
  random: RandomBytes
  /** Inserts waiting events, ends the threads of this core (running tasks fail), and closes the content storage. */
  close(): Promise<void>
}

/**
 * Deadlines follow the system clock even in tests that replace `now`, because the store compares
 * them with that clock.
 */
const systemNow = Date.now
const monotonicNow = () => performance.now()

export async function openCore(options: CoreOptions, overrides: CoreOverrides = {}): Promise<Core> {
  const { config, log, store, parties, otherThreads, maxListRows, counts } = options
  const { now = Date.now, random = pooled(randomBytes), clock = monotonicNow, makeRsaKey } = overrides
  const groupLimits = groupLimitsOf(config)
  const prepare = options.isPrepared ? openKeys : prepareStore
  const { keys, secret } = await prepare(config, store, { now, random, makeRsaKey })
  const checks = openChecks(overrides.checkLimits)
  const content = contentStorage(config)
  const refusals = openRefusalLog(log, overrides.refusalLog)
  const isProxy = proxyTest(config.trustedProxies)
  const limits = openCallLimits({ ...rateLimitsOf(config), isProxy, clock })
  const serverStore = storeForServer(store, parties)
  const { sealer, sealSignal } = openSealing(serverStore, log, now)
  const events = openBufferedEvents({ store: withCommitHook(serverStore, sealer.wake), log, now, counts })
  const deps = {
    store: withCommitHook(withStatusErrors(store), sealer.wake),
    ...{ now, random, checks, maxListRows, content, validatesOnly: false },
    pageSeals: openPageSeals(keys.page, now, random),
    settings: settingsOf(config, secret, groupLimits),
    idempotency: openIdempotency({ secret, now }),
    recordPull: openPullLog({ ...events, recorded: config.pullEvents }),
  }
  const knownNetworks = openKnownNetworks()
  const logIssuedToken = openIssuedTokenLog({ add: events.add, now, random })
  const { sts, registration, registry, account, login, states } = openAuthentication(
    {
      ...{ config, store: deps.store, keys, secret, log, refusals, now, random, runMatch: checks.match },
      limits: limits.signIn,
      heldAccess: async (caller, asked) =>
        deps.store.read(() => heldAccess(deps.settings, caller, now(), asked)),
      defaultLimits: groupLimits.defaults,
      onIssued(call, token, action) {
        knownNetworks.add(call.address)
        logIssuedToken(call, token, action)
      },
      events: { add: events.add, addRefused: events.addRefused },
    },
    overrides,
  )
  const unsent = openUnsentBudget({ limits: overrides.unsentLimits, isProxy })
  const scim = openProvisioning({
    ...{ config, store: deps.store, log, refusals, unsent, clock, now, systemNow, random },
    limits: limits.calls,
  })
  const deadlines = openDeadlines(systemNow)
  const turns = openTurns(clock)
  const waitForTurn = (identity: string) => turns.wait(partyOfCaller(identity))
  const corridors = openCorridors({
    ...{ config, log, refusals, keys, deadlines, unsent, now, random, clock, otherThreads },
    limits: limits.calls,
    defaultLimits: groupLimits.defaults,
    onRefusedWrite: openRefusalRecorder({ add: events.addRefused, now, random }),
    authenticateForRegistry: registry.authenticate,
  })
  return {
    ...corridors,
    ...{ store: deps.store, content, keys, secret, states, sealer, sealSignal, refusals, now, random },
    ...{ clock, turns, knownNetworks, sharedLimits: limits.shared },
    mounts: [scim, login],
    endpoints: endpointsOf({
      ...{ ...deps, sts, registration, registry, account, deadlines, unsent, waitForTurn },
      audit: auditOf(sealer),
      operating: { states, secret, keys, ...operatingOf(config) },
      tail: tailOf(config, sealSignal, overrides.tailHeartbeatMs),
    }),
    async close() {
      await events.stop()
      await Promise.all([checks.close(), content.close(), sealer.stop()])
    },
  }
}

/** For transactions that calls start, but that the server runs for all callers. */
const storeForServer = (store: Store, parties: Parties | undefined): Store =>
  parties
    ? {
        ...store,
        read: (work) => parties.runForServer(() => store.read(work)),
        write: (work, deadline) => parties.runForServer(() => store.write(work, deadline)),
      }
    : store

function openSealing(store: Store, log: Log, now: () => number): { sealer: Sealer; sealSignal: SealSignal } {
  const sealSignal = openSealSignal()
  const sealer = openSealer({
    store,
    onSealed: sealSignal.notify,
    fanOut: (events) => wakeQueuesOf(events, now()),
    onError: (err) => log.warn({ err }, 'events could not be sealed; the server tries again'),
  })
  return { sealer, sealSignal }
}

const rateLimitsOf = ({ rates, maxCallsPerCaller }: Config) => ({ rates, maxRunning: maxCallsPerCaller })

const operatingOf = (config: Config) => ({
  tokenAlgorithm: config.tokenAlgorithm,
  facts: serverFactsOf(config),
})

function auditOf({ catchUp }: Sealer): AuditDependencies['audit'] {
  const messages = new Map(resources.map(({ kind }) => [kind.table.name, kind.desc]))
  return { catchUp, messageOf: (kind) => messages.get(kind) }
}

/** How often streams look for events that another process, or another thread, has sealed. */
const tailPollMs = 1000

function tailOf(config: Config, sealSignal: SealSignal, heartbeatMs = 15_000): EventTail {
  const toCloudEvent = cloudEventsOf(config)
  return {
    toJson(event) {
      const made = toCloudEvent(event)
      return made && structuredJson(made)
    },
    wait: (maxMs) => sealSignal.wait(Math.min(tailPollMs, heartbeatMs, maxMs)),
    isClosed: sealSignal.isClosed,
    heartbeatMs,
    now: systemNow,
  }
}
