// Saves the audit log as a file.
import type { DeepPartial } from '@stemma/api/json'
import type { ExportAuditEntriesRequestJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { api } from '../../api/api.ts'
import { errorText } from '../../api/error-text.ts'
import { saveFile } from '../../ui/save-file.ts'
import { toast } from '../../ui/toast.ts'

/** A browser keeps the whole file in memory; the command line has no such limit. */
const maxEntries = 100_000

export async function exportEntries(filter: DeepPartial<ExportAuditEntriesRequestJson>): Promise<void> {
  toast('The export has begun')
  const lines: string[] = []
  try {
    for await (const entry of api.auditEntries.exportAuditEntries(filter)) {
      lines.push(JSON.stringify(entry))
      if (lines.length === maxEntries) {
        toast(
          `Only the first ${maxEntries} entries were exported; stemma audit export has no limit`,
          'warning',
        )
        break
      }
    }
  } catch (error) {
    toast(errorText(error).text, 'error')
    return
  }
  saveFile('audit.jsonl', `${lines.join('\n')}\n`, 'application/jsonl')
}
