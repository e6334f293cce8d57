// Who writes, for the event log: the caller of a method, the operator, sign-in, or the server itself.
import { randomBytes } from 'node:crypto'
import type { OriginDetail } from '../store/events/event-row.ts'
import type { Origin, WriteAccess } from '../store/write-access.ts'
import { countFromZero } from '../store/write-access.ts'
import type { Caller } from '../wire/caller.ts'
import type { Envelope } from '../wire/envelope.ts'
import { printableUserAgent } from '../wire/user-agent.ts'

export type Sources = Pick<Origin, 'now' | 'random'>

type DescribedEnvelope = Pick<Envelope, 'door' | 'requestId' | 'address' | 'userAgent'>

/** The origin of what a caller does. */
export const callerOrigin = (
  caller: Caller,
  { method, envelope }: { method: string; envelope: DescribedEnvelope },
  sources: Sources,
): Origin => ({
  method,
  actor: caller.identity,
  describe: () => JSON.stringify(callerDetail(caller, envelope)),
  now: sources.now,
  random: sources.random,
  nextNumber: countFromZero(),
})

function callerDetail(
  { signIn, act }: Caller,
  { door, requestId, address, userAgent }: DescribedEnvelope,
): OriginDetail {
  const detail: OriginDetail = { door, requestId, address }
  if (userAgent) detail.userAgent = printableUserAgent(userAgent)
  if (signIn)
    detail.signIn = signIn.provider
      ? { person: signIn.person, provider: signIn.provider }
      : { person: signIn.person }
  if (act) detail.act = act
  return detail
}

/** The origin of a write that no caller requested. `method` names the command or the task. */
export const systemOrigin = (
  door: string,
  method: string,
  { now, random }: Sources = { now: Date.now, random: randomBytes },
): Origin => ({
  method,
  actor: '',
  describe: () => JSON.stringify({ door } satisfies OriginDetail),
  nextNumber: countFromZero(),
  now,
  random,
})

/** The origin of the deletion of rows that have expired. */
export const expiryOrigin = (sources?: Sources): Origin => systemOrigin('server', 'expiry', sources)

/**
 * The same access for deleting expired rows. The event log then names the expiry as the origin, and not the caller. Its
 * events and those of the caller share one numbering, because the log keeps the order of all events of a transaction.
 */
export function asExpiry(access: WriteAccess): WriteAccess {
  const { origin } = access
  return origin ? { ...access, origin: { ...expiryOrigin(origin), nextNumber: origin.nextNumber } } : access
}
