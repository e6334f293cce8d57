// The auth service: returns the identity and roles of the caller, and deletes the caller's own account.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { DeletionRequest, WhoAmI_Capability } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { WhoAmI_CapabilitySchema, WhoAmISchema } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { permissionDenied } from '../../aip/errors.ts'
import { parentOf } from '../../aip/uid.ts'
import { admitToRead, admitToWrite } from '../../policy/admit.ts'
import { capabilityOf, nameOf, nameOfBit } from '../../policy/capabilities.ts'
import type { Grants } from '../../policy/grants.ts'
import { indexGrants } from '../../policy/grants.ts'
import type { Call } from '../../rpc/call.ts'
import { isLiveAt } from '../../store/expiry.ts'
import { principalsOf } from '../../store/external-groups.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import { emptyReply, messageReply } from '../../wire/reply.ts'
import type { Dependencies } from '../dependencies.ts'
import { groups } from '../iam/groups/table.ts'
import { identities } from '../iam/identities/table.ts'
import { roles } from '../iam/roles/table.ts'
import { messageOf } from '../kind.ts'
import { requireFreshSignInForOwnBindings } from '../ownership.ts'
import { removePerson } from '../remove-person.ts'
import { readResource } from '../stored-resource.ts'

/** The maximum number of entries of `capabilities` in a response. */
const maxEntries = 1000

export function authMethods(deps: Dependencies) {
  const { store } = deps
  return {
    validate: (call: Call) =>
      store.read(function* () {
        const grants = yield* admitToRead(call.demand)
        const { identity, limits } = grants.caller
        const { email, name = '' } = (yield* readResource(identities, identity)) ?? {}
        const { iss, aud, exp, iat } = claimsOf(call.authorization)
        const whoAmI = create(WhoAmISchema, {
          ...{ issuer: iss, subject: identity, audience: [aud].flat() },
          ...{ expiry: timestampFromMs(exp * 1000), issuedAt: timestampFromMs(iat * 1000) },
          capabilities: limits ? yield* limitedCapabilities(grants) : yield* boundRoles(grants),
          ...(email !== undefined && { email, profile: { name } }),
        })
        return messageReply(WhoAmISchema, whoAmI)
      }),

    delete: (call: Call<DeletionRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { caller } = access
        // People may delete their own account, but not with a limited token. Workloads may not delete themselves.
        const isOwnAccount = caller.identity === call.request.id && parentOf(call.request.id) === ''
        if (!isOwnAccount || caller.limits) throw permissionDenied('identity.delete', call.request.id)
        yield* requireFreshSignInForOwnBindings(deps, caller)
        yield* removePerson(access, caller.identity)
        return emptyReply
      }, call.deadline),
  }
}

type Claims = { iss: string; aud: string | string[]; exp: number; iat: number }

/** The claims of a token that the corridor has verified. */
function claimsOf(authorization = ''): Claims {
  const payload = authorization.split('.')[1] ?? ''
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims
}

/** The role bindings of the caller, without those in groups where they do not count (see store/suspensions.ts). */
function* boundRoles({ caller: { identity }, time, list }: Grants): Work<WhoAmI_Capability[]> {
  const places = new Set(list.map(({ group }) => group))
  const rows = yield* all(sql`select g.proto, r.proto from role_bindings b
    join groups g on g.uid = b.parent join roles r on r.uid = b.role
    where b.identity in ${principalsOf([identity], time)} and ${isLiveAt(time, 'b')} order by b.parent, b.role limit ${maxEntries}`)
  return rows.flatMap(([groupProto, role]) => {
    const group = groupOf(groupProto as Uint8Array)
    if (!places.has(group.id)) return []
    const { uid, name, description, capabilities } = messageOf(roles, role as Uint8Array)
    return create(WhoAmI_CapabilitySchema, {
      ...{ group, role: { id: uid, name, description, capabilities: capabilities.map(nameOf) } },
    })
  })
}

const listGroupsBits = new Set([capabilityOf(Capability.CAP_IAM_GROUPS_LIST)?.bit ?? -1]) // every capability has a bit

/**
 * The capabilities that remain within the limits of the token (`scopes`, `cap`), by group. If the caller may not list
 * a group, only its uid is shown.
 */
function* limitedCapabilities(grants: Grants): Work<WhoAmI_Capability[]> {
  const { list } = grants
  const byGroup = new Map<string, Set<string>>()
  for (const { group, bits } of list.slice(0, maxEntries)) {
    const names = byGroup.get(group) ?? new Set()
    for (const bit of bits) names.add(nameOfBit(bit))
    byGroup.set(group, names)
  }
  if (byGroup.size === 0) return []
  const rows = yield* all(
    sql`select uid, proto from groups where uid in ${among([...byGroup.keys()])} order by uid`,
  )
  const findMissing = indexGrants(grants)
  const canList = (uid: string) => findMissing(listGroupsBits, uid) === undefined
  return (rows as [string, Uint8Array][]).map(([uid, proto]) =>
    create(WhoAmI_CapabilitySchema, {
      group: canList(uid) ? groupOf(proto) : { id: uid },
      capabilities: [...(byGroup.get(uid) ?? [])].sort(),
    }),
  )
}

function groupOf(proto: Uint8Array) {
  const { uid, name, description, resourceLimits, verified, kind = 0, status = 0 } = messageOf(groups, proto)
  return { id: uid, name, description, resourceLimits, verified, kind, status }
}
