// Vulnerability advisories, with search.
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { SameWith } from '../../ui/code-block.tsx'
import { Empty } from '../../ui/empty.tsx'
import { SearchFilter } from '../../ui/filter.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { eventTitle } from './event-title.ts'

const readAdvisories = (place: Place) =>
  read(api.advisories.listAdvisories, {
    uidp: { descendantsOf: place.group },
    ...(place.query.get('search') && { query: place.query.get('search') ?? '' }),
    ...pageOf(place),
  })

export const load = (place: Place) => [readAdvisories(place)]

export default function Advisories({ place }: PageProps) {
  const { advisories = [], nextPageToken, totalCount } = useData(readAdvisories(place))
  const search = place.query.get('search') ?? ''
  return (
    <>
      <PageHeader
        title="Advisories"
        about="Which vulnerabilities concern which packages, and what became of them."
      />
      <div class="filters">
        <SearchFilter place={place} name="search" label="Search by CVE, package or advisory" />
      </div>
      {advisories.length === 0 ? (
        <Empty icon="advisory" title={search ? 'No advisory matches' : 'No advisories'}>
          The operator of the server imports them with stemmad import, and programs create them with the API.
        </Empty>
      ) : (
        <section class="panel flush">
          <Table
            label="Advisories"
            rows={advisories}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ advisoryId = '' }) => advisoryId}
            columns={[
              {
                title: 'Advisory',
                cell: ({ uid = '', advisoryId }) => (
                  <Link to={paths.advisory(place.group, uid)}>{advisoryId}</Link>
                ),
              },
              { title: 'Vulnerability', cell: ({ aliases = [] }) => aliases.join(', ') },
              { title: 'Package', cell: ({ artifactName }) => artifactName },
              { title: 'Status', cell: ({ events = [] }) => eventTitle(events.at(-1)), isSecondary: true },
              { title: 'Changed', cell: ({ updateTime }) => <Time at={updateTime} />, isSecondary: true },
            ]}
          />
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={advisories.length} />
      <SameWith
        stemma={`stemma advisories list --descendants-of ${place.group}${search && ` --query '${search}'`}`}
        curl={{ path: `/vulnerabilities/v2beta1/advisories?uidp.descendants_of=${place.group}` }}
      />
    </>
  )
}
