// All organizations of the server, for its operators.
import type { OrganizationJson } from '@stemma/api/json/platform/server/v2beta1/organization'
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { commandOf, pathOf } from '../../ui/commands.ts'
import { Empty } from '../../ui/empty.tsx'
import { SearchFilter } from '../../ui/filter.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const filtersOf = ({ query }: Place) => ({ nameContains: query.get('name') ?? undefined })

const readOrganizations = (place: Place) =>
  read(api.organizations.listOrganizations, { ...filtersOf(place), ...pageOf(place) })

export const load = (place: Place) => [readOrganizations(place)]

export default function Organizations({ place }: PageProps) {
  const { organizations = [], nextPageToken, totalCount } = useData(readOrganizations(place))
  return (
    <>
      <PageHeader
        title="Organizations"
        about="All organizations of this server, and how much they contain. To see more of an organization, you need a role in it."
      />
      <div class="filters">
        <SearchFilter place={place} name="name" label="Search organizations by name" />
      </div>
      {organizations.length === 0 ? (
        <Empty
          icon="tree"
          title={place.query.has('name') ? 'No organization has such a name' : 'No organizations yet'}
        >
          {place.query.has('name')
            ? 'Clear the search to see all organizations.'
            : 'People create organizations in the console.'}
        </Empty>
      ) : (
        <section class="panel flush">
          <Table
            label="Organizations"
            rows={organizations}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ name = '' }) => name}
            columns={[
              {
                title: 'Name',
                cell: ({ uid = '', name, verified }) => (
                  <>
                    <Link to={paths.serverOrganization(uid)}>{name}</Link>{' '}
                    {verified && <Badge tone="good">verified</Badge>}
                  </>
                ),
              },
              { title: 'Groups', cell: countOf('groups'), isNumber: true },
              { title: 'Identities', cell: countOf('identities'), isNumber: true, isSecondary: true },
              { title: 'Role bindings', cell: countOf('role_bindings'), isNumber: true, isSecondary: true },
              { title: 'Repos', cell: countOf('repos'), isNumber: true, isSecondary: true },
              { title: 'Limits', cell: (organization) => <LimitSummary organization={organization} /> },
              { title: 'Created', cell: ({ createTime }) => <Time at={createTime} />, isSecondary: true },
            ]}
            actions={({ uid = '' }) => [{ label: 'Usage and limits', to: paths.serverOrganization(uid) }]}
          />
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={organizations.length} />
      <PageCommands
        stemma={commandOf('stemma organizations list', filtersOf(place))}
        curl={{ path: pathOf('/server/v2beta1/organizations', filtersOf(place)) }}
      />
    </>
  )
}

const countOf =
  (name: string) =>
  ({ kinds = [] }: OrganizationJson) =>
    Number(kinds.find(({ kind }) => kind === name)?.used ?? 0).toLocaleString('en')

/** How many limits apply, and whether one is reached. */
function LimitSummary({ organization: { kinds = [] } }: { organization: OrganizationJson }) {
  const limits = kinds.filter(({ limit }) => limit !== undefined)
  const reached = limits.filter(({ available }) => Number(available) === 0)
  if (limits.length === 0) return <span class="quiet">none</span>
  return reached.length > 0 ? (
    <Badge tone="warning">{reached.length} reached</Badge>
  ) : (
    <span>{limits.length}</span>
  )
}
