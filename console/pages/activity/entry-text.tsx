import type { AuditEntryJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { Badge } from '../../ui/badge.tsx'

/** An entry of the audit log as a sentence: who did what. */
export const EntryText = ({ entry: { actor, action, resource, code } }: { entry: AuditEntryJson }) => (
  <span class="entry-text" dir="auto">
    {code ? <Badge tone="bad">refused</Badge> : null}{' '}
    <strong>{actor?.name || actor?.door || 'somebody'}</strong> {action?.replaceAll('-', ' ')}{' '}
    {singular(resource?.kind ?? '')} <strong>{resource?.name}</strong>
  </span>
)

/** `role binding` of `role_bindings`, `identity` of `identities`. */
export const singular = (kind: string) => kind.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '')
