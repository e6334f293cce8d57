// The audit log of a group and of everything below it, with filters in the URL.
import type { AuditEntryJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { commandOf, pathOf } from '../../ui/commands.ts'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter, DateFilter, SearchFilter } from '../../ui/filter.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { IdentityFilter } from '../identities/identity-filter.tsx'
import { EntryDetails } from './entry-details.tsx'
import { EntryText } from './entry-text.tsx'
import { exportEntries } from './export.ts'

const filterNames = ['action', 'kind', 'outcome', 'actor', 'resource', 'since', 'from', 'to'] as const

/** The fields of a request that the filters in the URL set. */
export function filterOf(place: Place) {
  const { query, group } = place
  const value = (name: (typeof filterNames)[number]) => query.get(name) || undefined
  const hours = hoursOf(place)
  return {
    uidp: { descendantsOf: group },
    action: value('action'),
    kind: value('kind'),
    actor: value('actor'),
    resource: value('resource'),
    ...(value('outcome') === 'failure' && { outcome: 'AUDIT_OUTCOME_FAILURE' as const }),
    ...(hours > 0 && { startTime: acceptedTime(timeOf(place) - hours * hourMs) }),
    ...(value('since') === 'dates' && {
      startTime: startOf(value('from'), 0),
      endTime: startOf(value('to'), 1),
    }),
  }
}

function commandFor(place: Place, verb: 'list' | 'export'): string {
  const { uidp, outcome, startTime, endTime, ...others } = filterOf(place)
  return commandOf(`stemma audit ${verb} ${uidp.descendantsOf}`, {
    ...{ ...others, outcome: outcome && 'failure', since: startTime, until: endTime },
  })
}

function pathFor(place: Place): string {
  const { uidp, ...others } = filterOf(place)
  return pathOf('/audit/v2beta1/entries', { 'uidp.descendantsOf': uidp.descendantsOf, ...others })
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The length of a period such as “last day”; 0 if none is chosen. */
const hoursOf = ({ query }: Place) => Number(query.get('since')) || 0

/**
 * The end of a period such as “last day”, in milliseconds since 1970. The pager keeps it in the URL
 * of later pages. It is rounded down to the minute, so that a page that is opened again soon is
 * shown from the cache.
 */
function timeOf({ query, openTime }: Place): number {
  const at = Number(query.get('at'))
  return at && acceptedTime(at) ? at : Math.floor(openTime / minuteMs) * minuteMs
}

/** A time as the API accepts it, in the years 1 to 9999; undefined for other times. */
function acceptedTime(time: number): string | undefined {
  const date = new Date(time)
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9999 ? date.toISOString() : undefined
}

/**
 * The start of the day that is `daysLater` days after the date, in the time zone of the browser.
 * Undefined if the date is missing or malformed, or the API does not accept the time.
 */
function startOf(date: string | undefined, daysLater: number): string | undefined {
  const [year = Number.NaN, month = 0, day = 0] = date?.split('-').map(Number) ?? []
  const start = new Date(year, month - 1, day + daysLater)
  return acceptedTime(start.getTime())
}

const readEntries = (place: Place) =>
  read(api.auditEntries.listAuditEntries, { ...filterOf(place), ...pageOf(place) })

export const load = (place: Place) => [readEntries(place)]

export default function Activity({ place }: PageProps) {
  const { entries = [], nextPageToken, totalCount } = useData(readEntries(place))
  const isFiltered = filterNames.some((name) => place.query.get(name))
  const exportCommand = commandFor(place, 'export')
  return (
    <>
      <PageHeader
        title="Activity"
        about="Every change, sign-in, token and refused write in this group and below. Entries are chained by hashes, so none can be removed unnoticed."
        actions={
          <>
            <Button onClick={() => void exportEntries(filterOf(place), exportCommand)}>
              Export JSON lines
            </Button>
            <Button
              onClick={() =>
                void exportEntries(
                  { ...filterOf(place), format: 'AUDIT_FORMAT_ECS' },
                  `${exportCommand} --format ecs`,
                )
              }
            >
              Export ECS
            </Button>
          </>
        }
      />
      <div class="filters">
        <ChoiceFilter place={place} name="action" label="Action" options={actions} />
        <ChoiceFilter place={place} name="kind" label="Kind" options={kinds} />
        <ChoiceFilter place={place} name="outcome" label="Outcome" options={outcomes} />
        <ChoiceFilter place={place} name="since" label="Time" options={times} />
        {place.query.get('since') === 'dates' && (
          <>
            <DateFilter place={place} name="from" label="From" />
            <DateFilter place={place} name="to" label="To" />
          </>
        )}
        <IdentityFilter place={place} name="actor" label="Actor" identityName={entries[0]?.actor?.name} />
        <SearchFilter place={place} name="resource" label="Uid of the resource" />
        {isFiltered && (
          <ButtonLink to={place.href.split('?')[0] ?? ''} icon="close">
            Clear
          </ButtonLink>
        )}
      </div>
      {entries.length === 0 ? (
        <Empty icon="activity" title="Nothing here">
          {isFiltered ? 'No entry matches these filters.' : 'Changes appear here as they happen.'}
        </Empty>
      ) : (
        <section class="panel flush">
          <ol class="entries">
            {entries.map((entry) => (
              <Entry key={entry.uid} place={place} entry={entry} />
            ))}
          </ol>
        </section>
      )}
      <Pager
        place={place}
        nextPageToken={nextPageToken}
        total={totalCount}
        shown={entries.length}
        time={hoursOf(place) > 0 ? timeOf(place) : undefined}
      />
      <PageCommands stemma={commandFor(place, 'list')} curl={{ path: pathFor(place) }} />
    </>
  )
}

const optionsOf = (all: string, names: readonly string[]) => [
  { value: '', label: all },
  ...names.map((name) => ({ value: name, label: name.replaceAll('_', ' ') })),
]
const actions = optionsOf('every action', [
  'created',
  'updated',
  'deleted',
  'content-deleted',
  'refused',
  'accepted',
  'pushed',
  'pulled',
  'issued',
  'exchanged',
  'refreshed',
  'signed-in',
  'signed-out',
  'metadata-updated',
  'rotated',
  'scim-updated',
  'scim-token-generated',
  'scim-token-regenerated',
  'scim-token-revoked',
  'tested',
  'replayed',
  'redelivered',
])
const kinds = [
  ...optionsOf('every kind', [
    ...['groups', 'identities', 'roles', 'role_bindings', 'group_invites', 'identity_providers'],
    ...['account_associations', 'repos', 'tags', 'registry_settings', 'repo_deployments', 'advisories'],
    ...['subscriptions', 'deliveries'],
  ]),
  { value: 'group_access_requests', label: 'access requests' },
  { value: 'external_group_role_mappings', label: 'group mappings' },
  { value: 'scim_users', label: 'SCIM users' },
  { value: 'scim_groups', label: 'SCIM groups' },
  { value: 'terms_acceptances', label: 'acceptances of terms' },
]
const outcomes = [
  { value: '', label: 'every outcome' },
  { value: 'failure', label: 'refused or failed' },
]
const times = [
  { value: '', label: 'any time' },
  { value: '1', label: 'last hour' },
  { value: '24', label: 'last day' },
  { value: '168', label: 'last week' },
  { value: '720', label: 'last 30 days' },
  { value: 'dates', label: 'from … to' },
]

/** One line that opens to show everything that is known. */
const Entry = ({ entry, place }: PageProps & { entry: AuditEntryJson }) => (
  <li>
    <details>
      <summary>
        <EntryText entry={entry} />
        <Time at={entry.time} />
      </summary>
      <EntryDetails entry={entry} />
      <p>
        <Link to={paths.auditEntry(place.group, entry.uid ?? '')}>Open this entry</Link>
      </p>
    </details>
  </li>
)
