// Composition of the corridors of a thread.
import type { KeyRing } from './auth/keys/key-ring.ts'
import type { Authenticator } from './auth/tokens/authenticate.ts'
import { openAuthenticator } from './auth/tokens/authenticate.ts'
import type { Config } from './config/config.ts'
import { noLimits } from './limits/rate/call-limits.ts'
import type { Log } from './log.ts'
import { openGrantParser } from './policy/grants.ts'
import type { Endpoint } from './rpc/call.ts'
import type { CorridorOptions } from './rpc/corridor.ts'
import { openCorridor } from './rpc/corridor.ts'
import type { Series } from './rpc/metrics.ts'
import type { RefusalLog } from './rpc/refusal-log.ts'
import { openReport } from './rpc/report.ts'
import { openStreamCorridor } from './rpc/stream-corridor.ts'
import { noUnsentBudget } from './rpc/unsent-budget.ts'
import type { Caller } from './wire/caller.ts'
import type { Corridor, StreamCorridor } from './wire/envelope.ts'

export type Corridors = {
  /** For the corridors of the doors. */
  corridorOptions: CorridorOptions
  authenticator: Authenticator
  /** The corridor of the registry, which accepts other credentials. */
  registryCorridor: Corridor<Endpoint>
  /** The corridors for a caller who is already authenticated. They do not report calls, because another thread does. */
  corridorFor(caller: Caller): Corridor<Endpoint>
  streamCorridorFor(caller: Caller): StreamCorridor<Endpoint>
  /** The metrics of the calls. */
  series: readonly Series[]
}

export type CorridorsDependencies = Omit<CorridorOptions, 'authenticate' | 'report' | 'parseGrants'> & {
  config: Config
  log: Log
  refusals: RefusalLog
  keys: KeyRing
  authenticateForRegistry: CorridorOptions['authenticate']
}

export function openCorridors({
  config,
  log,
  refusals,
  keys,
  authenticateForRegistry,
  ...options
}: CorridorsDependencies): Corridors {
  const { report, series } = openReport(log, refusals)
  const tokenParties = { issuer: config.authUrl, audience: config.baseUrl }
  const authenticator = openAuthenticator(keys, tokenParties, options.now)
  const { authenticate } = authenticator
  const corridorOptions: CorridorOptions = {
    ...options,
    authenticate,
    report,
    parseGrants: openGrantParser(),
  }
  const optionsFor = (caller: Caller) => ({ ...corridorOptions, ...unreported, authenticate: () => caller })
  return {
    ...{ corridorOptions, authenticator, series },
    registryCorridor: openCorridor({ ...corridorOptions, authenticate: authenticateForRegistry }),
    corridorFor: (caller) => openCorridor(optionsFor(caller)),
    streamCorridorFor: (caller) => openStreamCorridor(optionsFor(caller)),
  }
}

/**
 * For calls that another thread has handed over: that thread applies the limits of rate and of
 * unsent bytes, reports the calls and records refused writes.
 */
const unreported = {
  report: () => {},
  unsent: noUnsentBudget,
  otherThreads: undefined,
  limits: noLimits,
  onRefusedWrite: undefined,
}
