// Vulnerabilities of packages, with what became of them.
import type { ListAdvisoriesRequestJson } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'
import { api } from '../../api/api.ts'
import { exportLines } from '../../api/export-lines.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { CodeBlock, PageCommands } from '../../ui/code-block.tsx'
import { commandOf, enumWord, pathOf } from '../../ui/commands.ts'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter, SearchFilter } from '../../ui/filter.tsx'
import { Menu } from '../../ui/menu.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { statusOptions } from './event-title.ts'
import { StatusBadge } from './status-badge.tsx'

const filterOf = ({ query, group }: Place) => {
  const [search, status] = [query.get('search'), query.get('status')]
  return {
    uidp: { descendantsOf: group },
    ...(search && { query: search }),
    latestEventType: (status || undefined) as ListAdvisoriesRequestJson['latestEventType'],
  }
}

function commandFor(place: Place, verb: 'list' | 'export-osv' | 'export-openvex'): string {
  const { uidp, query, latestEventType } = filterOf(place)
  return commandOf(`stemma advisories ${verb}`, {
    ...{ ...uidp, query, latestEventType: enumWord('EVENT_TYPE_FILTER_', latestEventType) },
  })
}

const readAdvisories = (place: Place) =>
  read(api.advisories.listAdvisories, {
    ...{ ...filterOf(place), orderBy: 'update_time desc', ...pageOf(place) },
  })

export const load = (place: Place) => [readAdvisories(place)]

export default function Advisories({ place }: PageProps) {
  const { advisories = [], nextPageToken, totalCount } = useData(readAdvisories(place))
  const search = place.query.get('search') ?? ''
  const { latestEventType } = filterOf(place)
  const isFiltered = search !== '' || place.query.get('status') !== null
  return (
    <>
      <PageHeader
        title="Advisories"
        about="Which vulnerabilities concern which packages, and what became of them."
        actions={
          <Menu
            label="Export these advisories"
            items={[
              { label: 'OSV, one record on each line', onSelect: () => exportOsv(place) },
              { label: 'OpenVEX, one document on each line', onSelect: () => exportOpenVex(place) },
            ]}
          >
            Export
          </Menu>
        }
      />
      <div class="filters">
        <SearchFilter place={place} name="search" label="Search by CVE or package" />
        <ChoiceFilter place={place} name="status" label="Status" options={statusOptions} />
      </div>
      {advisories.length > 0 ? (
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
              {
                title: 'Status',
                cell: ({ events = [] }) => <StatusBadge events={events} />,
              },
              { title: 'Changed', cell: ({ updateTime }) => <Time at={updateTime} />, isSecondary: true },
            ]}
          />
        </section>
      ) : isFiltered ? (
        <Empty icon="advisory" title="No advisory matches">
          The search finds parts of the names of packages and vulnerabilities.
        </Empty>
      ) : (
        <Empty
          icon="advisory"
          title="No advisories"
          action={
            <CodeBlock
              label="import command"
              code={`stemmad import advisories --group ${place.group} osv-records/`}
            />
          }
        >
          Programs create advisories with the API, and the operator of the server imports records of the OSV
          format:
        </Empty>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={advisories.length} />
      <PageCommands
        stemma={commandFor(place, 'list')}
        curl={{
          path: pathOf('/vulnerabilities/v2beta1/advisories', {
            ...{ 'uidp.descendantsOf': place.group, query: search, latestEventType },
          }),
        }}
      />
    </>
  )
}

const exportOsv = (place: Place) =>
  void exportLines(api.advisories.exportAdvisoriesOsv(filterOf(place)), {
    ...{ name: 'advisories.osv.jsonl', unlimitedCommand: commandFor(place, 'export-osv') },
  })

const exportOpenVex = (place: Place) =>
  void exportLines(api.advisories.exportAdvisoriesOpenVex(filterOf(place)), {
    ...{ name: 'advisories.openvex.jsonl', unlimitedCommand: commandFor(place, 'export-openvex') },
  })
