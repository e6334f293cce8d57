// Events of sign-in for the event log. Those of a sign-in through an identity provider are in the group of the provider;
// others are in the log of the person, or in the group of the workload.
import { parentOf } from '../../aip/uid.ts'
import type { AccountAction } from '../../store/events/authentication-actions.ts'
import type { OriginDetail } from '../../store/events/event-row.ts'
import type { EventDetails, EventWithOrigin } from '../../store/events/record.ts'
import { recordWithOrigins } from '../../store/events/record.ts'
import type { Work } from '../../store/work.ts'
import type { Origin } from '../../store/write-access.ts'
import { countFromZero } from '../../store/write-access.ts'
import { printableUserAgent } from '../../wire/user-agent.ts'
import type { PageRequest } from './page-request.ts'

export type PageEvent = {
  /** The page or endpoint, such as `sign-in` or `oauth/token`. */
  method: string
  /** `identities` if left out. */
  kind?: string
  action: AccountAction | 'refused'
  identity: string
  /** The uid of the identity provider through which the person has signed in. */
  provider?: string | undefined
  /** The status code; absent for success. */
  code?: number
  details?: EventDetails
}

export type PageLog = {
  /** Records an event in the transaction of a change. */
  record(page: PageRequest, event: PageEvent): Work<void>
  /** Records an event that has no transaction. Never waits and never throws. */
  add(page: PageRequest, event: PageEvent): void
  /** Records a refusal. The number of entries in a minute is limited, because strangers can cause these events. */
  addRefused(page: PageRequest, event: PageEvent): void
}

export type PageLogDependencies = Pick<Origin, 'now' | 'random'> & {
  add(make: () => EventWithOrigin): void
  addRefused(event: EventWithOrigin): void
}

export function openPageLog({ add, addRefused, ...sources }: PageLogDependencies): PageLog {
  return {
    record: (page, event) => recordWithOrigins([eventWithOrigin(sources, page, event)]),
    add(page, event) {
      const made = eventWithOrigin(sources, page, event)
      add(() => made)
    },
    addRefused: (page, event) => addRefused(eventWithOrigin(sources, page, event)),
  }
}

/** The event of a refused sign-in has no actor, because nobody has proven who they are. */
function eventWithOrigin(
  { now, random }: Pick<Origin, 'now' | 'random'>,
  { address, request }: PageRequest,
  { method, kind = 'identities', action, identity, provider, code = 0, details }: PageEvent,
): EventWithOrigin {
  const userAgent = request.headers['user-agent']
  const isPerson = parentOf(identity) === ''
  const detail: OriginDetail = {
    ...{ door: 'sign-in', address },
    ...(userAgent && { userAgent: printableUserAgent(userAgent) }),
    ...(code === 0 &&
      isPerson && { signIn: { person: identity, ...(provider !== undefined && { provider }) } }),
  }
  const time = now()
  const origin: Origin = {
    ...{ method, actor: code === 0 ? identity : '', describe: () => JSON.stringify(detail) },
    // Not the time of the insert, which is later.
    ...{ now: () => time, random, nextNumber: countFromZero() },
  }
  const group = provider === undefined ? parentOf(identity) || identity : parentOf(provider)
  return { origin, group, kind, uid: identity, action, code, ...(details && { details }) }
}
