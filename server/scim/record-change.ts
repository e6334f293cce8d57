// Records in the event log what an identity provider changes.
import { parentOf } from '../aip/uid.ts'
import type { OriginDetail } from '../store/events/event-row.ts'
import { recordEvent } from '../store/events/record.ts'
import type { Work } from '../store/work.ts'
import type { Origin } from '../store/write-access.ts'
import { countFromZero } from '../store/write-access.ts'
import type { ScimDependencies, ScimRequest } from './request.ts'
import type { StoredType } from './stored.ts'

/** The attributes of users and groups are not recorded: the identity provider has them. */
export const recordChange = (
  deps: ScimDependencies,
  request: ScimRequest,
  { type, table }: StoredType,
  id: string,
  action: 'created' | 'updated' | 'deleted',
): Work<void> =>
  recordEvent(
    { origin: originOf(deps, request, type.endpoint) },
    {
      ...{ group: parentOf(request.provider), kind: table, uid: `${request.provider}/${id}`, action },
      details: { identityProvider: request.provider, id },
    },
  )

function originOf({ now, random }: ScimDependencies, request: ScimRequest, endpoint: string): Origin {
  const { address, userAgent } = request
  const detail: OriginDetail = {
    door: 'scim',
    address,
    ...(userAgent && { userAgent: userAgent.slice(0, 256) }),
  }
  return {
    ...{ method: `SCIM ${request.method} ${endpoint}`, actor: '', describe: () => JSON.stringify(detail) },
    ...{ now, random, nextNumber: countFromZero() },
  }
}
