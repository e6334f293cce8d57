// Limits the calls of each caller, organization and network: their rate, by cost class, and how many calls of a caller
// run at a time. The check of a call takes a few look-ups and no allocation.
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../../aip/errors.ts'
import { withNarrowingAdvice } from '../narrowing.ts'
import type { SharedLimits } from '../sharing/shared-usage.ts'
import { openSharedLimits } from '../sharing/shared-usage.ts'
import { openCallers } from './callers.ts'
import type { CostClass } from './cost-class.ts'
import { costClasses, costClassOf } from './cost-class.ts'
import type { Meter } from './meter.ts'
import { openNetworks } from './networks.ts'
import type { ScopeName } from './rate-refusal.ts'
import { openRateScope } from './rate-scope.ts'

/** Calls per second; 0 for no limit. */
export type Rates = Record<CostClass, Record<ScopeName, number>>

/** The corridor reads the clock once for each call and passes its time as `now`. */
export type CallLimits = {
  /** The index of the method's class in `costClasses`. */
  classOf(method: Method): number
  /** Counts a call of a network. Throws if the network has made too many. Undefined if the address is not limited. */
  arrive(costClass: number, address: string, now: number): Meter | undefined
  /**
   * Counts a call of an authenticated caller and its organization. Throws if one of them has made too many, or if too
   * many calls of the caller are running. Otherwise, `leave` must be called when the call ends.
   */
  enter(costClass: number, identity: string, network: Meter | undefined, now: number): Meter | undefined
  leave(caller: Meter | undefined): void
  /** The header fields that say how many calls are left; undefined while more than half are left. */
  fieldsOf(
    costClass: number,
    caller: Meter | undefined,
    network: Meter | undefined,
    now: number,
  ): Record<string, string> | undefined
  /** Adds advice to the error of a list that took too long. Returns other errors unchanged. */
  explain(method: Method, error: StatusError): StatusError
}

/** Limits of sign-in and the token exchange, which know the caller only when they succeed. */
export type SignInLimits = {
  /** Counts a request to a sign-in endpoint. Throws if the network has made too many. */
  request(address: string): void
  /** Counts an exchange for an identity that has been proven. Throws if it or its organization has made too many. */
  exchange(identity: string): void
}

export type CallLimitOptions = {
  rates: Rates
  /** How many calls of one caller may run at a time; 0 for no limit. */
  maxRunning: number
  /** Whether an address is that of a trusted proxy. */
  isProxy(address: string): boolean
  /** The clock whose times the corridor passes: a monotonic one, in milliseconds. */
  clock(): number
  /** The number of callers, of organizations and of networks that are remembered. A meter takes about 400 bytes. */
  maxMeters?: number
}

const signInClass = costClasses.indexOf('sign-in')
const exchangeClass = costClasses.indexOf('exchange')

export type Limits = { calls: CallLimits; signIn: SignInLimits; shared: SharedLimits }

export function openCallLimits(options: CallLimitOptions): Limits {
  const { rates, maxRunning, clock, maxMeters = 20_000 } = options
  const scopeOf = (name: ScopeName) => {
    const perSecond = costClasses.map((costClass) => rates[costClass][name])
    return openRateScope({ name, perSecond, maxMeters, clock })
  }
  const callers = scopeOf('caller')
  const organizations = scopeOf('organization')
  const addresses = scopeOf('address')
  const callerLimits = openCallers({ callers, organizations, maxRunning })
  const networkOf = openNetworks(options.isProxy)
  const classOf = openClasses()

  function arrive(costClass: number, address: string, now: number): Meter | undefined {
    const network = networkOf(address)
    if (network === '') return undefined
    const meter = addresses.meters.of(network)
    addresses.require(meter, costClass, now)
    addresses.take(meter, costClass, now)
    return meter
  }

  const calls: CallLimits = {
    classOf,
    arrive,
    enter(costClass, identity, network, now) {
      const caller = callerLimits.of(identity)
      try {
        callerLimits.start(costClass, caller, now)
      } catch (error) {
        // Calls of a caller that are refused must not use up the limit of others at the same address.
        if (network) addresses.giveBack(network, costClass)
        throw error
      }
      return caller
    },
    leave(caller) {
      if (caller) caller.running--
    },
    fieldsOf(costClass, caller, network, now) {
      const organization = caller?.organization
      const byAddress = addresses.usedShare(network, costClass, now)
      const byCaller = callers.usedShare(caller, costClass, now)
      const byOrganization = organizations.usedShare(organization, costClass, now)
      const most = Math.max(byAddress, byCaller, byOrganization)
      if (most < shareToReport) return undefined
      if (organization && most === byOrganization) return organizations.fieldsOf(organization, costClass, now)
      if (caller && most === byCaller) return callers.fieldsOf(caller, costClass, now)
      return network && addresses.fieldsOf(network, costClass, now)
    },
    explain: withNarrowingAdvice,
  }
  const signIn: SignInLimits = {
    request: (address) => void arrive(signInClass, address, clock()),
    exchange: (identity) => callerLimits.take(exchangeClass, callerLimits.of(identity), clock()),
  }
  const shared = openSharedLimits({ caller: callers, organization: organizations, address: addresses })
  return { calls, signIn, shared }
}

/** How much of a bucket must be used for responses to say so. */
const shareToReport = 0.5

/** Caches the cost class of each method: comparing names takes longer than the rest of the check. */
function openClasses(): (method: Method) => number {
  const classes = new Map<Method, number>()
  return (method) => {
    let costClass = classes.get(method)
    if (costClass === undefined) {
      costClass = costClasses.indexOf(costClassOf(method))
      classes.set(method, costClass)
    }
    return costClass
  }
}

/** For calls that other calls make: only the outer one is limited. */
export const noLimits: CallLimits = {
  classOf: () => 0,
  arrive: () => undefined,
  enter: () => undefined,
  leave: () => {},
  fieldsOf: () => undefined,
  explain: (_method, error) => error,
}
