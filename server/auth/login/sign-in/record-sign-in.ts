import { parentOf } from '../../../aip/uid.ts'
import type { OriginDetail } from '../../../store/events/event-row.ts'
import { recordEvent } from '../../../store/events/record.ts'
import type { Work } from '../../../store/work.ts'
import type { Origin } from '../../../store/write-access.ts'
import { countFromZero } from '../../../store/write-access.ts'
import { printableUserAgent } from '../../../wire/user-agent.ts'
import type { PageRequest } from '../page-request.ts'
import type { AuthenticatedPerson } from '../people.ts'

/**
 * Records a sign-in in the event log: in the group of the identity provider that it went through, and otherwise in the
 * log of the person. `by` is the authentication method (RFC 8176).
 */
export function recordSignIn(
  { now, random }: Pick<Origin, 'now' | 'random'>,
  { address, request }: PageRequest,
  by: string,
  { identity, provider }: AuthenticatedPerson,
): Work<void> {
  const userAgent = request.headers['user-agent']
  const detail: OriginDetail = {
    ...{ door: 'sign-in', address },
    ...(userAgent && { userAgent: printableUserAgent(userAgent) }),
    signIn: { person: identity, ...(provider !== undefined && { provider }) },
  }
  const origin: Origin = {
    ...{ method: 'sign-in', actor: identity, describe: () => JSON.stringify(detail) },
    ...{ now, random, nextNumber: countFromZero() },
  }
  const group = provider === undefined ? identity : parentOf(provider)
  return recordEvent(
    { origin },
    { group, kind: 'identities', uid: identity, action: 'signed-in', details: { by } },
  )
}
