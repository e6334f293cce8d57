// Identities: people, who are outside any group, and workloads, each of which is in a group.
import type { Message } from '@bufbuild/protobuf'
import { create, equals } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type {
  CreateIdentityRequest,
  Identity,
  ListIdentitiesRequest,
  LookupIdentityRequest,
  UpdateIdentityMetadataRequest,
  UpdateIdentityRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import {
  IdentitiesService,
  IdentitySchema,
  LookupIdentityResponseSchema,
  RelationshipType,
  RelationshipTypeSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { failedPrecondition, invalidField } from '../../../aip/errors.ts'
import { parentOf, rootOf, userUid } from '../../../aip/uid.ts'
import { openPatterns } from '../../../claims/pattern.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Sql } from '../../../store/sql.ts'
import { raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { messageReply, withWarnings } from '../../../wire/reply.ts'
import type { Warning } from '../../../wire/warning.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources, pointRegions } from '../../list.ts'
import { nameSearch } from '../../name-search.ts'
import { removeWhere } from '../../remove-where.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { removeExpired } from '../expired-bindings.ts'
import { roleBindings } from '../role-bindings/table.ts'
import { requireMayCreate, requireMayTakeOver } from '../takeover.ts'
import { withTrustDecisions } from '../trust-decisions.ts'
import { checkPatterns } from './check-patterns.ts'
import { updateIdentityMetadata } from './metadata.ts'
import { requireValidRelationship, setExpiry } from './relationship.ts'
import { relationshipWarnings } from './relationship-warnings.ts'
import { identities } from './table.ts'

function identitiesMethods(deps: Dependencies) {
  const { store, settings } = deps
  const { issuerRule, authUrl } = settings
  const trust = { authUrl, patterns: openPatterns(), checks: deps.checks }
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

    async createIdentity(call: Call<CreateIdentityRequest>) {
      const { judge } = await checkPatterns(deps, call.demand, call.request)
      let warnings: Warning[] = []
      let keptUid: { uid?: string } = {}
      return withTrustDecisions(trust, call.demand.caller.identity, (decisions) =>
        createResource(deps, identities, call, {
          ...keptUid,
          *beforeCreate(draft, { grants, uid, time }) {
            // withTrustDecisions may run this again. It must then create the same uid, because the decisions are about it.
            keptUid = { uid }
            draft.lastSeenTime = timestampFromMs(time)
            setExpiry(draft, time)
            requireValidRelationship(draft, { issuerRule, judge, now: time })
            warnings = relationshipWarnings(draft, judge)
            yield* requireMayCreate({ authUrl, decisions }, grants, uid)
          },
          complete: (reply) => withWarnings(reply, warnings),
        }),
      )
    },

    async updateIdentity(call: Call<UpdateIdentityRequest>) {
      const { judge } = await checkPatterns(deps, call.demand, call.request, true)
      let warnings: Warning[] = []
      const reply = await withTrustDecisions(trust, call.demand.caller.identity, (decisions) =>
        updateResource(deps, identities, call, {
          *beforeUpdate({ current, merged, grants, time }) {
            setExpiry(merged, time)
            if (isSameRelationship(current, merged)) return
            if (current.pullToken)
              throw failedPrecondition(
                'PULL_TOKEN',
                'the keys of a pull token cannot be changed; create another pull token and delete this one',
              )
            requireValidRelationship(merged, { issuerRule, judge, now: time })
            warnings = relationshipWarnings(merged, judge)
            yield* requireMayTakeOver({ authUrl, decisions }, grants, call.demand.scope)
          },
        }),
      )
      return withWarnings(reply, warnings)
    },

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

function isSameRelationship(current: Identity, merged: Identity): boolean {
  const relationshipOnly = ({ relationship }: Identity): Message => create(IdentitySchema, { relationship })
  return equals(IdentitySchema, relationshipOnly(current) as Identity, relationshipOnly(merged) as Identity)
}
