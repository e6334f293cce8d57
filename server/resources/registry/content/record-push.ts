// Records pushes in the event log, in the transaction of the push.
import { parentOf } from '../../../aip/uid.ts'
import type { RegistryDetails } from '../../../cloud-events/other-events.ts'
import type { Demand } from '../../../policy/admit.ts'
import { recordEvents } from '../../../store/events/record.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'

export type PushedManifest = {
  digest: string
  mediaType: string
  tags: readonly string[]
  /** The digests to which existing tags pointed, by tag name. */
  previous: ReadonlyMap<string, string>
}

/** Records one event for each tag, or a single event if there are no tags. */
export function* recordPush(
  access: WriteAccess,
  demand: Demand,
  { digest, mediaType, tags, previous }: PushedManifest,
): Work<void> {
  const common = { digest, mediaType, type: 'manifest' as const }
  const pushes = tags.map((tag) => ({ ...common, tag, ...previousOf(previous.get(tag)) }))
  yield* recordEvents(
    access,
    (pushes.length > 0 ? pushes : [common]).map((push) => eventOf(demand, push)),
  )
}

/** The blob was uploaded, or mounted from another repo. */
export const recordBlobPush = (access: WriteAccess, demand: Demand, digest: string): Work<void> =>
  recordEvents(access, [eventOf(demand, { digest, type: 'blob' })])

const previousOf = (digest: string | undefined) => (digest ? { previousDigest: digest } : {})

function eventOf({ scope, origin }: Demand, push: Omit<RegistryDetails, 'repository' | 'displayName'>) {
  const repository = origin.envelope.repo?.name ?? ''
  const details = { repository, displayName: repository.slice(repository.lastIndexOf('/') + 1), ...push }
  return { group: parentOf(scope), kind: 'repos', uid: scope, action: 'pushed', details }
}
