// Access requests, and invites that expire soon: things that somebody should decide.
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useRead } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps } from '../../router/route.ts'
import { Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Time } from '../../ui/time.tsx'

const maxShown = 5
const soonMs = 3 * 24 * 3_600_000

export function AwaitingDecision({ place: { group } }: PageProps) {
  const isHidden = useDenial(group)('group_invites.list') !== undefined
  const uidp = { descendantsOf: group }
  const requests = useRead(
    read(api.groupAccessRequests.listGroupAccessRequests, { uidp, pageSize: maxShown }),
    !isHidden,
  )
  const invites = useRead(
    read(api.groupInvites.listGroupInvites, {
      ...{ uidp, unexpired: true, orderBy: 'expiration_time', pageSize: maxShown },
    }),
    !isHidden,
  )
  if (isHidden) return null
  const error = requests.error ?? invites.error
  const waiting = requests.data?.groupAccessRequests ?? []
  const soon = (invites.data?.groupInvites ?? []).filter(
    ({ expirationTime = '' }) => Date.parse(expirationTime) - Date.now() < soonMs,
  )
  const isLoaded = requests.data !== undefined && invites.data !== undefined
  return (
    <section class="panel flush">
      <div class="panel-header inset">
        <h2>Waiting</h2>
        <Link to={paths.invites(group)}>Invites and requests</Link>
      </div>
      {error && <Problem error={error} />}
      {!isLoaded && !error && (
        <div class="note">
          <Skeleton lines={2} />
        </div>
      )}
      {isLoaded && waiting.length + soon.length === 0 && (
        <p class="note quiet">No requests for access, and no invites that expire soon.</p>
      )}
      <ul class="entries">
        {waiting.map(({ uid = '', identity, createTime }) => (
          <li key={uid}>
            <Link to={`${paths.invites(group)}?dialog=approve&about=${uid}`}>
              <span class="entry-text" dir="auto">
                <strong>{identity?.name || identity?.email || identity?.uid}</strong> asks for access
              </span>
              <Time at={createTime} />
            </Link>
          </li>
        ))}
        {soon.map(({ uid = '', email, role, expirationTime }) => (
          <li key={uid}>
            <Link to={`${paths.invites(group)}?dialog=change&about=${uid}`}>
              <span class="entry-text" dir="auto">
                The invite for <strong>{email || 'anyone with the link'}</strong> as {role?.name} expires
              </span>
              <Time at={expirationTime} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
