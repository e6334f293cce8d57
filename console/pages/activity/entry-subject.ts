// The name of the thing that an entry of the audit log is about.
import type { AuditEntryJson } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'

/** Fields by which people recognise resources that have no name. */
const identifyingFields = ['advisoryId', 'email', 'sink', 'externalGroupId', 'description']

/** Empty if the entry has no such name. */
export function subjectOf({ resource, changes = [], details = {} }: AuditEntryJson): string {
  if (resource?.name) return resource.name
  if (typeof details.displayName === 'string') return details.displayName
  const changed = (wanted: string) => {
    const change = changes.find(({ path }) => path === wanted)
    return change?.after ?? change?.before
  }
  const [identity, role] = ['identity', 'role'].map((path) => nameOf(changed(path)))
  if (identity && role) return `${role} for ${identity}`
  return identifyingFields.map((path) => textOf(changed(path))).find(Boolean) ?? ''
}

/** Of an identity or a role. */
function nameOf(value: unknown): string {
  const { name, email, uid } = (typeof value === 'object' && value !== null ? value : {}) as Named
  return textOf(name) || textOf(email) || textOf(uid)
}

type Named = { name?: unknown; email?: unknown; uid?: unknown }

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')
