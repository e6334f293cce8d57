import { aborted, notFound } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import type { EventDetails } from '../../../store/events/record.ts'
import { recordEvent } from '../../../store/events/record.ts'
import type { ScimSettings } from '../../../store/scim-settings.ts'
import { initialScimSettings, lockScimSettings, writeScimSettings } from '../../../store/scim-settings.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { requireFreshSignInForMappedRoles } from '../../ownership.ts'
import { requireAllMappedRoles } from '../delegation.ts'
import { etagOfSettings } from './get-with-scim.ts'
import { identityProviders } from './table.ts'

type Change = (uid: string, current: ScimSettings, now: number) => [ScimSettings, (etag: string) => Reply]

type Checks = {
  /** Checks that the caller may make this change. */
  authorize?(deps: Dependencies, grants: Grants, uid: string): Work<void>
  check?(uid: string): Work<void>
}

/** Changes the SCIM settings of the identity provider that a call names, in one transaction. */
export function changeScimSettings(
  deps: Dependencies,
  call: Call,
  change: Change,
  { authorize, check }: Checks = {},
): Promise<Reply> {
  return deps.store.write(function* () {
    const grants = yield* admitToWrite(call.demand)
    const uid = call.demand.scope
    // Locks the provider, because the SCIM settings have no row before their first change.
    const provider = yield* first(
      sql`select uid from identity_providers where uid = ${uid} /*pg for no key update */`,
    )
    if (!provider) throw notFound(identityProviders.desc.typeName, uid)
    if (authorize) yield* authorize(deps, grants, uid)
    const current = (yield* lockScimSettings(uid)) ?? initialScimSettings
    const [changed, reply] = change(uid, current, deps.now())
    if (check) yield* check(uid)
    if (isSame(current, changed)) return reply(etagOfSettings(current))
    const stored = { ...changed, version: current.version + 1 }
    yield* writeScimSettings(uid, stored)
    const response = reply(etagOfSettings(stored))
    yield* recordEvent(grants, {
      ...{ group: parentOf(uid), kind: 'identity_providers', uid, action: actionOf(call.method.desc.name) },
      details: withoutToken(response),
    })
    return response
  }, call.deadline)
}

const actionOf = (method: string) =>
  method === 'SetScimEnabled'
    ? 'scim-updated'
    : `scim-token-${method.replace(/ScimToken$/, '').toLowerCase()}d`

/** The response, for the event log. */
function withoutToken(response: Reply): EventDetails {
  const { token: _, ...details } = JSON.parse(response.json().text) as Record<string, string | boolean>
  return details
}

const isSame = (a: ScimSettings, b: ScimSettings) => JSON.stringify(a) === JSON.stringify(b)

export function requireEtag(sent: string, current: ScimSettings): void {
  if (sent !== etagOfSettings(current))
    throw aborted('the SCIM settings have changed since they were read; read the identity provider again')
}

/** A caller with a SCIM token can become a member of every external group, and so get every mapped role. */
export function* requireMayProvision(deps: Dependencies, grants: Grants, uid: string): Work<void> {
  yield* requireAllMappedRoles(grants, uid)
  yield* requireFreshSignInForMappedRoles(deps, grants.caller, uid)
}
