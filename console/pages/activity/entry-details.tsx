// Everything that is known about one entry of the audit log.
import type { AuditChangeJson, AuditEntryJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { Uid } from '../../ui/copy.tsx'
import { Properties } from '../../ui/properties.tsx'

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
  <div class="table-scroll">
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
  </div>
)

const valueText = (value: unknown) =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)
