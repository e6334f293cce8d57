// The images to which a tag has pointed. The times come from the registry, the authors from the
// audit log if the person may read it.
import type { AuditEntryJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import type { TagJson } from '@stemma/api/json/platform/registry/v2beta1/tag'
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useRead } from '../../api/read.ts'
import type { TagMove } from '../../api/registry.ts'
import { readTagMoves } from '../../api/registry.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { Digest } from '../../ui/copy.tsx'
import { Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const maxShown = 100

/** The newest audit entries of a tag: one page of the maximum size. */
const readEntries = (tag: string) =>
  read(api.auditEntries.listAuditEntries, {
    ...{ uidp: { descendantsOf: parentOf(parentOf(tag)) }, resource: tag, pageSize: 200 },
  })

export function TagHistory({ place, tag }: PageProps & { tag: TagJson }) {
  const { uid = '', name = '', digest } = tag
  const { data, error } = useRead(readTagMoves(parentOf(uid), name))
  const denied = useDenial(parentOf(parentOf(uid)))('audit.entries.list')
  const { data: audit } = useRead(readEntries(uid), denied === undefined)
  if (error) return <Problem error={error} />
  if (!data) return <Skeleton />
  const moves = (data.history ?? []).toReversed().slice(0, maxShown)
  return (
    <>
      <Table
        label="History of the tag"
        rows={moves}
        uidOf={({ updateTimestamp, digest: moved }) => `${updateTimestamp} ${moved}`}
        nameOf={({ digest: moved }) => moved}
        hasUids={false}
        columns={[
          { title: 'Moved', cell: ({ updateTimestamp }) => <Time at={updateTimestamp} /> },
          {
            title: 'Digest',
            cell: (move) => (
              <>
                <Digest digest={move.digest} />{' '}
                {move === moves[0] && move.digest === digest && <Badge tone="good">now</Badge>}
              </>
            ),
          },
          {
            title: 'By',
            cell: (move) => <Author entry={entryOf(move, audit?.entries)} denied={denied} />,
          },
        ]}
      />
      <p class="inset quiet small">
        {moves.length < (data.history?.length ?? 0) && `The last ${maxShown} moves. `}
        <Link to={`${paths.activity(place.group)}?resource=${encodeURIComponent(uid)}`}>
          All changes of this tag
        </Link>
      </p>
    </>
  )
}

/** Both records of a move are written in one transaction, but their times may differ: each reads the clock itself. */
const maxDistanceMs = 5000

function entryOf(
  { digest, updateTimestamp }: TagMove,
  entries: readonly AuditEntryJson[] = [],
): AuditEntryJson | undefined {
  const distanceOf = ({ time = '' }: AuditEntryJson) =>
    Math.abs(Date.parse(time) - Date.parse(updateTimestamp))
  return entries.find(
    (entry) =>
      entry.changes?.some(({ path, after }) => path === 'digest' && after === digest) &&
      distanceOf(entry) < maxDistanceMs,
  )
}

const Author = ({ entry, denied }: { entry: AuditEntryJson | undefined; denied: string | undefined }) =>
  entry?.actor ? (
    <span dir="auto">{entry.actor.name || entry.actor.identity || 'the server'}</span>
  ) : (
    <span class="quiet" title={denied}>
      not known
    </span>
  )
