// The audit log of a group and of everything below it, with filters in the URL.
import type { AuditChangeJson, AuditEntryJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { SameWith } from '../../ui/code-block.tsx'
import { Uid } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Pager, pageOf } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { exportEntries } from './export.ts'

const filterNames = ['action', 'kind', 'outcome', 'actor', 'resource', 'since'] as const

/** The part of a request that the filters of the URL make. */
export function filterOf({ query, group }: Place) {
  const value = (name: (typeof filterNames)[number]) => query.get(name) || undefined
  const hours = Number(value('since') ?? 0)
  return {
    uidp: { descendantsOf: group },
    action: value('action'),
    kind: value('kind'),
    actor: value('actor'),
    resource: value('resource'),
    ...(value('outcome') === 'failure' && { outcome: 'AUDIT_OUTCOME_FAILURE' as const }),
    ...(hours > 0 && { startTime: sinceOf(hours) }),
  }
}

/** Rounded to the minute, so that the same page has the same request. */
const sinceOf = (hours: number) =>
  new Date(Math.floor(Date.now() / 60_000) * 60_000 - hours * 3_600_000).toISOString()

const readEntries = (place: Place) =>
  read(api.auditEntries.listAuditEntries, { ...filterOf(place), ...pageOf(place) })

export const load = (place: Place) => [readEntries(place)]

export default function Activity({ place }: PageProps) {
  const { entries = [], nextPageToken, totalCount } = useData(readEntries(place))
  const set = (name: string) => (event: { currentTarget: { value: string } }) =>
    void navigate(withQuery(place, { [name]: event.currentTarget.value, page: undefined }))
  const isFiltered = filterNames.some((name) => place.query.get(name))
  return (
    <>
      <PageHeader
        title="Activity"
        about="Every change, sign-in, token and refused write in this group and below. Entries are chained by hashes, so none can be removed unnoticed."
        actions={
          <>
            <Button onClick={() => void exportEntries(filterOf(place))}>Export JSON lines</Button>
            <Button onClick={() => void exportEntries({ ...filterOf(place), format: 'AUDIT_FORMAT_ECS' })}>
              Export ECS
            </Button>
          </>
        }
      />
      <div class="filters">
        <Select
          label="Action"
          name="action"
          value={place.query.get('action') ?? ''}
          options={actions}
          onChange={set('action')}
        />
        <Select
          label="Kind"
          name="kind"
          value={place.query.get('kind') ?? ''}
          options={kinds}
          onChange={set('kind')}
        />
        <Select
          label="Outcome"
          name="outcome"
          value={place.query.get('outcome') ?? ''}
          options={outcomes}
          onChange={set('outcome')}
        />
        <Select
          label="Time"
          name="since"
          value={place.query.get('since') ?? ''}
          options={times}
          onChange={set('since')}
        />
        <TextField
          label="Actor"
          name="actor"
          placeholder="uid"
          defaultValue={place.query.get('actor') ?? ''}
          onChange={set('actor')}
        />
        <TextField
          label="Resource"
          name="resource"
          placeholder="uid"
          defaultValue={place.query.get('resource') ?? ''}
          onChange={set('resource')}
        />
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
              <Entry key={entry.uid} entry={entry} />
            ))}
          </ol>
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={entries.length} />
      <SameWith
        stemma={`stemma audit list ${place.group}`}
        curl={{ path: `/audit/v2beta1/entries?uidp.descendants_of=${place.group}` }}
      />
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
  'refused',
  'signed-in',
  'exchanged',
])
const kinds = optionsOf('every kind', [
  ...['groups', 'identities', 'roles', 'role_bindings', 'group_invites', 'identity_providers'],
  ...['account_associations', 'repos', 'tags', 'advisories', 'subscriptions'],
])
const outcomes = [
  { value: '', label: 'every outcome' },
  { value: 'failure', label: 'refused or failed' },
]
const times = [
  { value: '', label: 'any time' },
  { value: '1', label: 'the last hour' },
  { value: '24', label: 'the last day' },
  { value: '168', label: 'the last week' },
  { value: '720', label: 'the last 30 days' },
]

/** One line that opens to show everything that is known. */
export function Entry({ entry }: { entry: AuditEntryJson }) {
  const { time, actor, action, resource, changes = [], code, method, hash } = entry
  return (
    <li>
      <details>
        <summary>
          <span class="entry-text" dir="auto">
            {code ? <Badge tone="bad">refused</Badge> : null}{' '}
            <strong>{actor?.name || actor?.door || 'somebody'}</strong> {action}{' '}
            {resource?.kind?.replaceAll('_', ' ').replace(/s$/, '')} <strong>{resource?.name}</strong>
          </span>
          <Time at={time} />
        </summary>
        {changes.length > 0 && <Changes changes={changes} />}
        <Properties
          rows={[
            ['Method', method],
            ['Resource', resource?.uid && <Uid uid={resource.uid} />],
            ['Actor', actor?.identity && <Uid uid={actor.identity} />],
            ['Through', actor?.door],
            ['Address', actor?.address],
            ['User agent', actor?.userAgent],
            ['Request', actor?.requestId],
            ['Hash', hash && <code class="small">{hash}</code>],
          ]}
        />
      </details>
    </li>
  )
}

const Changes = ({ changes }: { changes: readonly AuditChangeJson[] }) => (
  <table class="changes" aria-label="Changed fields">
    <thead>
      <tr>
        <th scope="col">Field</th>
        <th scope="col">Before</th>
        <th scope="col">After</th>
      </tr>
    </thead>
    <tbody>
      {changes.map(({ path, before, after, hidden }) => (
        <tr key={path}>
          <th scope="row">{path}</th>
          <td class="wrap">{hidden ? 'secret' : valueText(before)}</td>
          <td class="wrap">{hidden ? 'secret' : valueText(after)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

const valueText = (value: unknown) =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)
