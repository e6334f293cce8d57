// One entry of the audit log, with a link that can be shared.
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Time } from '../../ui/time.tsx'
import { EntryDetails } from './entry-details.tsx'
import { EntryText } from './entry-text.tsx'

const readEntry = ({ uids }: Place) => read(api.auditEntries.getAuditEntry, { uid: uids.entry ?? '' })

export const load = (place: Place) => [readEntry(place)]

export default function AuditEntry({ place }: PageProps) {
  const entry = useData(readEntry(place))
  const { uid = '', time, resource } = entry
  const activityPath = (query: Record<string, string>) =>
    `${paths.activity(place.group)}?${new URLSearchParams(query)}`
  return (
    <>
      <PageHeader
        title={<EntryText entry={entry} />}
        about={<Time at={time} isExact />}
        actions={
          resource?.uid && (
            <ButtonLink to={activityPath({ resource: resource.uid })}>
              All entries about this resource
            </ButtonLink>
          )
        }
      />
      <section class="panel">
        <EntryDetails entry={entry} />
      </section>
      <PageCommands stemma={`stemma audit get ${uid}`} curl={{ path: `/audit/v2beta1/entries/${uid}` }} />
    </>
  )
}
