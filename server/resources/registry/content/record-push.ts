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
  /** The digests to which existing tags pointed, by their names. */
  previous: ReadonlyMap<string, string>
}

/** One event for each tag, or one without a tag. */
export function* recordPush(
  access: WriteAccess,
  { scope, origin }: Demand,
  { digest, mediaType, tags, previous }: PushedManifest,
): Work<void> {
  const repository = origin.envelope.repo?.name ?? ''
  const displayName = repository.slice(repository.lastIndexOf('/') + 1)
  const common = { repository, displayName, digest, mediaType, type: 'manifest' as const }
  const pushes: RegistryDetails[] = tags.map((tag) => ({ ...common, tag, ...previousOf(previous.get(tag)) }))
  yield* recordEvents(
    access,
    (pushes.length > 0 ? pushes : [common]).map((details) => ({
      ...{ group: parentOf(scope), kind: 'repos', uid: scope, action: 'pushed', details },
    })),
  )
}

const previousOf = (digest: string | undefined) => (digest ? { previousDigest: digest } : {})
