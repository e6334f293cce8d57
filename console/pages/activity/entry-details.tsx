// The details of one entry of the audit log: changed fields, actor, request and hash.
import type { AuditChangeJson, AuditEntryJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { Uid } from '../../ui/copy.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Table } from '../../ui/table.tsx'

export const EntryDetails = ({ entry }: { entry: AuditEntryJson }) => {
  const { actor, resource, changes = [], method, hash, details, sequence } = entry
  return (
    <>
      {changes.length > 0 && <Changes changes={changes} />}
      <Properties
        rows={[
          ['Method', method],
          ['Resource', resource?.uid && <Uid uid={resource.uid} />],
          ['Actor', actor?.identity && <Uid uid={actor.identity} />],
          ['Person', actor?.person && actor.person !== actor.identity && <Uid uid={actor.person} />],
          ['Identity provider', actor?.identityProvider && <Uid uid={actor.identityProvider} />],
          ['Through', actor?.door],
          ['Address', actor?.address],
          ['User agent', actor?.userAgent],
          ['Request', actor?.requestId],
          ...Object.entries(details ?? {}).map(([name, value]) => [name, valueText(value)] as const),
          ['Number', sequence],
          ['Hash', hash && <code class="small">{hash}</code>],
        ]}
      />
    </>
  )
}

const Changes = ({ changes }: { changes: readonly AuditChangeJson[] }) => (
  <Table
    label="Changed fields"
    rows={changes}
    uidOf={({ path = '' }) => path}
    nameOf={({ path = '' }) => path}
    hasUids={false}
    columns={[
      { title: 'Field', cell: ({ path }) => <span class="field-path">{path}</span> },
      { title: 'Before', cell: (change) => <span class="wrap">{textOf(change, change.before)}</span> },
      { title: 'After', cell: (change) => <span class="wrap">{textOf(change, change.after)}</span> },
    ]}
  />
)

const textOf = ({ hidden, truncated }: AuditChangeJson, value: unknown) =>
  hidden ? 'secret' : truncated ? 'too long to show' : valueText(value)

const valueText = (value: unknown) =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)
