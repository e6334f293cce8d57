// Entries of the audit log in the Elastic Common Schema 8 (docs/internals/audit.md lists the fields).
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { rootOf } from '../../aip/uid.ts'
import { authenticationActions } from '../../store/events/authentication-actions.ts'

export const ecsVersion = '8.17.0'

const typeOf: Record<string, string> = { created: 'creation', updated: 'change', deleted: 'deletion' }

const authentication = new Set<string>(authenticationActions)

/** `entry` is an `AuditEntry` as JSON. Fields without a place in the schema are in `stemma`. */
export function ecsOf(entry: JsonObject): JsonObject {
  const actor = (entry.actor ?? {}) as Record<string, string>
  const resource = (entry.resource ?? {}) as Record<string, string>
  const action = entry.action as string
  const code = (entry.code ?? 0) as number
  const isAuthentication = authentication.has(action) || (action === 'refused' && actor.door === 'sign-in')
  const category = isAuthentication ? 'authentication' : 'iam'
  return {
    '@timestamp': entry.time as string,
    ecs: { version: ecsVersion },
    event: {
      ...{ id: entry.uid as string, kind: 'event', category: [category], provider: 'stemma' },
      type: code === 0 ? [typeOf[action] ?? 'info'] : ['denied'],
      action: `${resource.kind}-${action}`,
      outcome: code === 0 ? 'success' : 'failure',
      sequence: Number(entry.sequence),
      hash: entry.hash as string,
    },
    ...optional('user', optional('id', actor.identity), optional('name', actor.name)),
    ...optional('source', optional('address', actor.address)),
    ...optional('user_agent', optional('original', actor.userAgent)),
    ...optional('http', optional('request', optional('id', actor.requestId))),
    organization: { id: rootOf(entry.group as string) },
    stemma: withoutEmpty({
      ...{ method: entry.method, group: entry.group, resource: entry.resource, changes: entry.changes },
      ...{ code: entry.code, details: entry.details, door: actor.door, person: actor.person },
      identityProvider: actor.identityProvider,
    }),
  }
}

/** `{ [name]: value }`: the value is a string, or objects merged into one. `{}` if it is empty. */
function optional(name: string, ...values: (string | JsonObject | undefined)[]): JsonObject {
  const [first] = values
  if (typeof first === 'string') return first === '' ? {} : { [name]: first }
  const merged: JsonObject = Object.assign({}, ...values.filter((value) => value !== undefined))
  return Object.keys(merged).length === 0 ? {} : { [name]: merged }
}

const withoutEmpty = (fields: Record<string, JsonValue | undefined>): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  ) as JsonObject
