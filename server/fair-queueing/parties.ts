// The party for which the running code works. It is the same in all code that a call starts, also after its promises
// have resolved, so a store can divide its connections fairly without a parameter in every function.
import { AsyncLocalStorage } from 'node:async_hooks'
import { rootOf } from '../aip/uid.ts'
import type { Party } from './waiting-calls.ts'

/**
 * Organizations, people, known networks and the server itself have eight times the weight of a network in which nobody
 * has proven who they are.
 */
export const knownWeight = 8

/** No organization and no network has this name. */
export const serverParty: Party = { group: 'server', member: '', weight: knownWeight }

/** The organization of an identity, or the person, who is in none. */
export const partyOfCaller = (identity: string): Party => ({
  group: rootOf(identity),
  member: identity,
  weight: knownWeight,
})

export type Parties = {
  /** Runs the task for the party. `partyOf` is called only when the task has to wait, maybe several times. */
  runFor<T>(partyOf: () => Party, task: () => T): T
  /** Runs the task for the server, even if a call has started it: for example, the events of all callers are written. */
  runForServer<T>(task: () => T): T
  current(): Party
}

export function openParties(): Parties {
  const running = new AsyncLocalStorage<() => Party>()
  return {
    runFor: (partyOf, task) => running.run(partyOf, task),
    runForServer: (task) => running.exit(task),
    current: () => running.getStore()?.() ?? serverParty,
  }
}
