import { create } from '@bufbuild/protobuf'
import type {
  CreateExternalGroupRoleMappingRequest,
  ExternalGroupRoleMapping,
} from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { ExternalGroupRoleMappingSchema } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { failedPrecondition, invalidField, notFound } from '../../../aip/errors.ts'
import { isAtOrBelow, newChildUid, parentOf } from '../../../aip/uid.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import { lockGrants } from '../../../policy/read-grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { externalGroupUid } from '../../../store/external-groups.ts'
import { setMembersFromScim } from '../../../store/scim-memberships.ts'
import { lockScimSettings } from '../../../store/scim-settings.ts'
import { sql } from '../../../store/sql.ts'
import { readTally } from '../../../store/tally.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { createEntry, createIn, draftOf } from '../../create.ts'
import type { Dependencies, WriteContext } from '../../dependencies.ts'
import { requireFreshSignInForRole } from '../../ownership.ts'
import { readReply } from '../../reply.ts'
import { resourceIn } from '../../request-resource.ts'
import { requireDelegable } from '../delegation.ts'
import { removeExpiredBlockers } from '../expired-bindings.ts'
import { identities } from '../identities/table.ts'
import { lockProvider } from '../remove-mappings.ts'
import { roleBindings } from '../role-bindings/table.ts'
import { externalGroupRoleMappings } from './table.ts'

/** Bounds the time of a sign-in, which reads all mappings of its provider. */
const maxMappings = 1000

/**
 * A list reads all grants of its caller. An identity is a member of at most 100 external groups (`maxMemberships`), so
 * these give it at most 2000 roles.
 */
const maxMappingsOfGroup = 20

const conflict = 'the external group has this role in this group already'

export function* createMapping(
  deps: Dependencies,
  call: Call<CreateExternalGroupRoleMappingRequest>,
  grants: WriteGrants,
): Work<Reply> {
  const provider = call.demand.scope
  const draft = draftOf(ExternalGroupRoleMappingSchema, resourceIn(externalGroupRoleMappings, call))
  if (!(yield* lockProvider(provider))) throw notFound(externalGroupRoleMappings.parentType, provider)
  yield* requireAllowed(grants, provider, draft)
  yield* requireFreshSignInForRole(deps, grants.caller, draft.roleUid)
  yield* requireBelowLimits(provider, draft.externalGroupId)
  const { now, random } = deps
  const context = { now, random, access: grants }
  const uid = newChildUid(provider, now(), random)
  draft.identityProviderUid = provider
  const { group, isNew } = yield* ensureExternalGroup(context, provider, draft.externalGroupId)
  const binding = yield* bindGroup(context, group, uid, draft)
  const columns = { external_group: group, binding }
  yield* createIn(grants, provider, externalGroupRoleMappings, draft, { uid, now: now(), columns })
  if (isNew) yield* addScimMembers(provider, draft.externalGroupId)
  return yield* readReply(externalGroupRoleMappings, uid, call.form, grants)
}

/**
 * The administrators of a group decide what its providers assert, so these providers must not grant anything outside of
 * the group. The caller needs the role's capabilities only in the group `scope`, where it applies.
 */
function* requireAllowed(
  grants: WriteGrants,
  provider: string,
  { scope, roleUid }: ExternalGroupRoleMapping,
): Work<void> {
  const isInside = isAtOrBelow(scope, parentOf(provider))
  const group =
    isInside && (yield* first(sql`select uid from groups where uid = ${scope} /*pg for key share */`))
  if (!group)
    throw invalidField(
      'scope',
      'must be the uid of the group of the identity provider, or of a group below it',
    )
  yield* requireDelegable(yield* lockGrants(grants, scope), scope, roleUid, 'role_uid')
}

/** An external group has no members in the store before its first mapping. */
function* addScimMembers(provider: string, groupId: string): Work<void> {
  // Waits for SCIM requests that have not found the mapping. Later ones find it.
  yield* lockScimSettings(provider)
  yield* setMembersFromScim(provider, groupId)
}

function* requireBelowLimits(provider: string, groupId: string): Work<void> {
  const { children = 0 } =
    (yield* readTally(externalGroupRoleMappings.table.name, [provider])).get(provider) ?? {}
  if (children >= maxMappings)
    throw tooMany(
      `an identity provider can have at most ${maxMappings} external group role mappings; delete some of them`,
    )
  const row = yield* first(sql`select count(*) from external_group_role_mappings
    where external_group = ${externalGroupUid(provider, groupId)}`)
  if ((row?.[0] as number) >= maxMappingsOfGroup)
    throw tooMany(
      `an external group can have at most ${maxMappingsOfGroup} role mappings; delete some of them, or map it once in a group above`,
    )
}

const tooMany = (message: string) => failedPrecondition('TOO_MANY_MAPPINGS', message)

/** Creates the row of an external group, to which its roles are bound, unless an earlier mapping has created it. */
function* ensureExternalGroup(
  { access, now }: WriteContext,
  provider: string,
  groupId: string,
): Work<{ group: string; isNew: boolean }> {
  const uid = externalGroupUid(provider, groupId)
  const existing = yield* first(sql`select uid from identities where uid = ${uid}`)
  const description = 'external group'
  if (!existing)
    yield* createEntry(access, identities, create(IdentitySchema, { name: groupId, description }), {
      uid,
      now: now(),
    })
  return { group: uid, isNew: !existing }
}

/** Binds an external group to the role of its mapping, whose uid is `mappingUid`. */
function* bindGroup(
  { access, now, random }: WriteContext,
  externalGroup: string,
  mappingUid: string,
  { scope, roleUid, externalGroupId, identityProviderUid }: ExternalGroupRoleMapping,
): Work<string> {
  const source = { mappingUid, identityProviderUid, externalGroupId }
  const draft = create(RoleBindingSchema, { externalGroup: source })
  const uid = newChildUid(scope, now(), random)
  const columns = { identity: externalGroup, role: roleUid }
  yield* removeExpiredBlockers(access, { identity: externalGroup, role: roleUid, group: scope }, now())
  yield* createIn(access, scope, roleBindings, draft, { uid, now: now(), columns }, conflict)
  return uid
}
