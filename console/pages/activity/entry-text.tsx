import type { AuditEntryJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { Badge } from '../../ui/badge.tsx'
import { subjectOf } from './entry-subject.ts'

/** An entry of the audit log as a sentence: who did what. */
export const EntryText = ({ entry }: { entry: AuditEntryJson }) => (
  <span class="entry-text" dir="auto">
    {entry.code ? <Badge tone="bad">refused</Badge> : null}{' '}
    <strong>{entry.actor?.name || entry.actor?.door || 'somebody'}</strong>{' '}
    {entry.action?.replaceAll('-', ' ')} {singular(entry.resource?.kind ?? '')}{' '}
    <strong>{subjectOf(entry)}</strong>
  </span>
)

/** `role binding` for `role_bindings`, `identity` for `identities`. */
export const singular = (kind: string) => kind.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '')
