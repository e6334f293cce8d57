// Saves the audit log as a file.
import type { DeepPartial } from '@stemma/api/json'
import type { ExportAuditEntriesRequestJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { api } from '../../api/api.ts'
import { exportLines } from '../../api/export-lines.ts'

export const exportEntries = (
  filter: DeepPartial<ExportAuditEntriesRequestJson>,
  unlimitedCommand: string,
): Promise<void> =>
  exportLines(api.auditEntries.exportAuditEntries(filter), { name: 'audit.jsonl', unlimitedCommand })
