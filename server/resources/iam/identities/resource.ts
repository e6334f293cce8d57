// Identities: people, who are outside any group, and workloads, each of which is in a group.
import { create } from '@bufbuild/protobuf'
import type {
  CreateIdentityRequest,
  ListIdentitiesRequest,
  LookupIdentityRequest,
  UpdateIdentityMetadataRequest,
  UpdateIdentityRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import {
  IdentitiesService,
  LookupIdentityResponseSchema,
  RelationshipType,
  RelationshipTypeSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { parentOf, rootOf, userUid } from '../../../aip/uid.ts'
import { openPatterns } from '../../../claims/pattern.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Sql } from '../../../store/sql.ts'
import { raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { messageReply } from '../../../wire/reply.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources, pointRegions } from '../../list.ts'
import { nameSearch } from '../../name-search.ts'
import { removeWhere } from '../../remove-where.ts'
import { defineResource } from '../../resource.ts'
import { removeExpired } from '../expired-bindings.ts'
import { roleBindings } from '../role-bindings/table.ts'
import { createIdentity } from './create-identity.ts'
import { updateIdentityMetadata } from './metadata.ts'
import { identities } from './table.ts'
import { updateIdentity } from './update-identity.ts'

function identitiesMethods(deps: Dependencies) {
  const { store, settings } = deps
  const trust = { authUrl: settings.authUrl, patterns: openPatterns(), checks: deps.checks }
  return {
    /** People may read themselves. They are in no group, so no grant applies to them. */
    getIdentity(call: Call) {
      const { demand } = call
      const isSelf = parentOf(demand.scope) === '' && demand.scope === demand.caller.identity
      return getResource(
        store,
        identities,
        isSelf ? { ...call, demand: { ...demand, capabilities: [] } } : call,
      )
    },

    listIdentities(call: Call<ListIdentitiesRequest>) {
      const { name, nameContains, relationshipType } = call.request
      return listResources(deps, identities, call, {
        filters: [...equalTo(raw('name'), name), ...ofType(relationshipType)],
        ...nameSearch(identities, nameContains),
        alsoVisible: ({ caller }) =>
          parentOf(caller.identity) === '' ? pointRegions([caller.identity]) : [],
      })
    },

    createIdentity: (call: Call<CreateIdentityRequest>) => createIdentity(deps, trust, call),

    updateIdentity: (call: Call<UpdateIdentityRequest>) => updateIdentity(deps, trust, call),

    updateIdentityMetadata: (call: Call<UpdateIdentityMetadataRequest>) => updateIdentityMetadata(deps, call),

    deleteIdentity: (call: Call) =>
      deleteResource(deps, identities, call, {
        removeBatch: (uid, access) => removeExpired(access, deps.now(), sql`identity = ${uid}`),
        beforeDelete: removeForeignBindings,
        inUse: 'cannot delete identity that still holds roles',
      }),

    lookupIdentity: (call: Call<LookupIdentityRequest>) =>
      store.read(function* () {
        yield* admitToRead(call.demand)
        const { issuer, subject } = call.request
        return messageReply(
          LookupIdentityResponseSchema,
          create(LookupIdentityResponseSchema, { uid: userUid(issuer, subject) }),
        )
      }),
  }
}

export const identitiesResource = defineResource({
  kind: identities,
  service: IdentitiesService,
  methods: identitiesMethods,
})

/** Deletes bindings in other organizations. The caller may be unable to see them, so they must not block the call. */
const removeForeignBindings = (uid: string, access: WriteAccess): Work<void> =>
  removeWhere(access, roleBindings, sql`identity = ${uid} and root <> ${rootOf(uid)}`)

function ofType(type: RelationshipType): Sql[] {
  if (type === RelationshipType.UNSPECIFIED) return []
  if (!RelationshipTypeSchema.value[type])
    throw invalidField('relationship_type', 'must be one of the relationship types')
  return [sql`relationship_type = ${type}`]
}
