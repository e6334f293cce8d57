// The newest entries of the audit log.
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useRead } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps } from '../../router/route.ts'
import { Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Time } from '../../ui/time.tsx'
import { EntryText } from '../activity/entry-text.tsx'

const shown = 8

export function RecentActivity({ place: { group } }: PageProps) {
  const listDenial = useDenial(group)('audit.entries.list')
  const { data, error } = useRead(
    read(api.auditEntries.listAuditEntries, { uidp: { descendantsOf: group }, pageSize: shown }),
    listDenial === undefined,
  )
  const entries = data?.entries ?? []
  return (
    <section class="panel flush">
      <div class="panel-header inset">
        <h2>Recent activity</h2>
        {entries.length > 0 && <Link to={paths.activity(group)}>All activity</Link>}
      </div>
      {listDenial !== undefined && <p class="note quiet">{listDenial}</p>}
      {error && <Problem error={error} />}
      {listDenial === undefined && !data && !error && (
        <div class="note">
          <Skeleton lines={shown} />
        </div>
      )}
      {data && entries.length === 0 && <p class="note quiet">Nothing has happened here yet.</p>}
      <ol class="entries">
        {entries.map((entry) => (
          <li key={entry.uid}>
            <Link to={paths.auditEntry(group, entry.uid ?? '')}>
              <EntryText entry={entry} />
              <Time at={entry.time} />
            </Link>
          </li>
        ))}
      </ol>
    </section>
  )
}
