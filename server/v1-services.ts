// Every service of v1. They convert requests and replies, and call the services of v2.
import { Subscriptions } from '@stemma/api/gen/platform/events/subscription_pb.ts'
import { GroupAccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { Identities } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentityProviders } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { Roles } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { Dependencies } from './resources/dependencies.ts'
import type { AnyService } from './resources/resource.ts'
import { defineService } from './resources/resource.ts'
import type { Ask } from './resources/v1/call-v2.ts'
import { subscriptionsOfV1 } from './resources/v1/events/subscriptions.ts'
import { accountAssociationsOfV1 } from './resources/v1/iam/account-associations/account-associations.ts'
import { groupInvitesOfV1 } from './resources/v1/iam/group-invites/group-invites.ts'
import { groupsOfV1 } from './resources/v1/iam/groups/groups.ts'
import { identitiesOfV1 } from './resources/v1/iam/identities/identities.ts'
import { identityProvidersOfV1 } from './resources/v1/iam/identity-providers/identity-providers.ts'
import { roleBindingsOfV1 } from './resources/v1/iam/role-bindings/role-bindings.ts'
import { rolesOfV1 } from './resources/v1/iam/roles/roles.ts'
import { reposOfV1 } from './resources/v1/registry/repos.ts'
import { tagHistoryOfV1 } from './resources/v1/registry/tag-history.ts'
import { tagsOfV1 } from './resources/v1/registry/tags.ts'
import type { AdvisoryWriting } from './resources/v1/vulnerabilities/advisories.ts'
import { advisoriesOfV1 } from './resources/v1/vulnerabilities/advisories.ts'
import { advisoryListOfV1 } from './resources/v1/vulnerabilities/list.ts'
import {
  createAdvisory,
  reviseAdvisory,
  withdrawAdvisory,
} from './resources/vulnerabilities/advisories/write.ts'

export type V1Dependencies = Dependencies & {
  callV2: Ask
  /** Calls v2 and sets the readme of the repo in the same transaction. */
  callV2WithReadme(readme: string): Ask
}

export const v1Services: readonly AnyService<V1Dependencies>[] = [
  defineService({ service: Groups, methods: ({ callV2 }: V1Dependencies) => groupsOfV1(callV2) }),
  defineService({
    service: Identities,
    methods: (deps: V1Dependencies) => identitiesOfV1(deps, deps.callV2),
  }),
  defineService({ service: Roles, methods: ({ callV2 }: V1Dependencies) => rolesOfV1(callV2) }),
  defineService({ service: RoleBindings, methods: ({ callV2 }: V1Dependencies) => roleBindingsOfV1(callV2) }),
  defineService({
    service: IdentityProviders,
    methods: ({ callV2 }: V1Dependencies) => identityProvidersOfV1(callV2),
  }),
  defineService({
    service: GroupAccountAssociations,
    methods: ({ callV2 }: V1Dependencies) => accountAssociationsOfV1(callV2),
  }),
  defineService({ service: GroupInvites, methods: ({ callV2 }: V1Dependencies) => groupInvitesOfV1(callV2) }),
  defineService({
    service: Registry,
    methods: (deps: V1Dependencies) => ({
      ...reposOfV1(deps, deps.callV2, deps.callV2WithReadme),
      ...tagsOfV1(deps.callV2),
      ...tagHistoryOfV1(deps),
    }),
  }),
  defineService({
    service: Advisories,
    methods: (deps: V1Dependencies) => ({
      ...advisoriesOfV1(deps, advisoryWriting(deps)),
      ...advisoryListOfV1(deps.callV2),
    }),
  }),
  defineService({
    service: Subscriptions,
    methods: ({ callV2 }: V1Dependencies) => subscriptionsOfV1(callV2),
  }),
]

const advisoryWriting = (deps: Dependencies): AdvisoryWriting => ({
  create: (group, draft) => createAdvisory(deps, group, draft),
  revise: (uid, change) => reviseAdvisory(deps, uid, change),
  withdraw: (uid) => withdrawAdvisory(deps, uid),
})
