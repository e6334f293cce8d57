// Sources of access as the API shows them.
import { create, fromBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { AccessEntry } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccessEntrySchema } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import type {
  RoleBinding,
  RoleBindingIdentity,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import {
  RoleBindingGroupSchema,
  RoleBindingIdentitySchema,
  RoleBindingSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { capabilityOf } from '../../../policy/capabilities.ts'
import { noAccess, openDecisions } from '../../../policy/decide.ts'
import type { Grants } from '../../../policy/grants.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { askBits } from './answer.ts'
import type { Source } from './source.ts'
import { groupOf } from './source.ts'

/**
 * The sources as the caller may see them. If the access to a resource is listed, `resource` is its
 * uid, and sources in groups above it are marked as inherited.
 */
export function* entriesOf(
  sources: readonly Source[],
  grants: Grants,
  resource: string | undefined,
): Work<AccessEntry[]> {
  const bindings = yield* readBindings([...new Set(sources.map(({ binding }) => binding))])
  const identities = yield* readIdentities([...new Set(sources.map(({ identity }) => identity))])
  const decide = openDecisions(grants.list)
  const viewer: Viewer = {
    identity: grants.caller.identity,
    holds: (bits, group) => decide(bits, group) !== noAccess,
  }
  return sources.map((source) => {
    const entry = entryOf(source, viewer, bindings.get(source.binding), identities.get(source.identity))
    entry.inherited = resource !== undefined && groupOf(source) !== resource
    return entry
  })
}

export function* readBindings(uids: readonly string[]): Work<Map<string, RoleBinding>> {
  if (uids.length === 0) return new Map()
  const rows = yield sql`select b.uid, b.proto, g.binding_bytes, r.binding_bytes
    from role_bindings b cross join groups g cross join roles r
    where b.uid in ${among(uids)} and g.uid = b.parent and r.uid = b.role`
  return new Map(
    (rows as [string, Uint8Array, Uint8Array, Uint8Array][]).map(([uid, ...parts]) => [
      uid,
      fromBinary(RoleBindingSchema, Buffer.concat(parts)), // the columns are parts of its encoding, see hydration.ts
    ]),
  )
}

export function* readIdentities(uids: readonly string[]): Work<Map<string, RoleBindingIdentity>> {
  if (uids.length === 0) return new Map()
  const rows = yield sql`select uid, binding_bytes from identities where uid in ${among(uids)}`
  return new Map(
    (rows as [string, Uint8Array][]).flatMap(([uid, bytes]) => {
      const { identity } = fromBinary(RoleBindingSchema, bytes)
      return identity ? [[uid, identity]] : []
    }),
  )
}

/** The caller, and whether the caller has all of these capabilities, as bits, in a group. */
type Viewer = { identity: string; holds(bits: readonly number[], group: string): boolean }

const bitsOf = (capability: Capability) => [capabilityOf(capability)?.bit ?? Number.NaN]
const listIdentities = bitsOf(Capability.CAP_IAM_IDENTITY_LIST)
const listGroups = bitsOf(Capability.CAP_IAM_GROUPS_LIST)

function entryOf(
  source: Source,
  viewer: Viewer,
  binding: RoleBinding | undefined,
  identity: RoleBindingIdentity | undefined,
): AccessEntry {
  const isSelf = source.identity === viewer.identity
  const group = groupOf(source)
  const hidden = !isSelf && !viewer.holds(askBits, group)
  const maySeeIdentity = isSelf || viewer.holds(listIdentities, group)
  const maySeeGroup = viewer.holds(listGroups, group)
  const entry = create(AccessEntrySchema, {
    hidden,
    identity:
      identity && maySeeIdentity ? identity : create(RoleBindingIdentitySchema, { uid: source.identity }),
    group: binding?.group && maySeeGroup ? binding.group : create(RoleBindingGroupSchema, { uid: group }),
  })
  if (hidden || !binding) return entry
  entry.roleBindingUid = source.binding
  if (binding.role) entry.role = binding.role
  if (binding.externalGroup) entry.externalGroup = binding.externalGroup
  if (source.until !== undefined) entry.expireTime = timestampFromMs(source.until)
  return entry
}
