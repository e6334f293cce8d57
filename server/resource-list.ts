// Every resource of the platform. This list decides which resources are served, stored, rerendered after a
// migration, and counted in the tally.
import { subscriptionsResource } from './resources/events/subscriptions/resource.ts'
import { accountAssociationsResource } from './resources/iam/account-associations/resource.ts'
import { externalGroupRoleMappingsResource } from './resources/iam/external-group-role-mappings/resource.ts'
import { groupAccessRequestsResource } from './resources/iam/group-access-requests/resource.ts'
import { groupInvitesResource } from './resources/iam/group-invites/resource.ts'
import { groupsResource } from './resources/iam/groups/resource.ts'
import { identitiesResource } from './resources/iam/identities/resource.ts'
import { identityProvidersResource } from './resources/iam/identity-providers/resource.ts'
import { roleBindingsResource } from './resources/iam/role-bindings/resource.ts'
import { rolesResource } from './resources/iam/roles/resource.ts'
import { reposResource } from './resources/registry/repos/resource.ts'
import { tagsResource } from './resources/registry/tags/resource.ts'
import type { AnyResource } from './resources/resource.ts'
import { advisoriesResource } from './resources/vulnerabilities/advisories/resource.ts'

export const resources: readonly AnyResource[] = [
  groupsResource,
  groupAccessRequestsResource,
  identitiesResource,
  rolesResource,
  roleBindingsResource,
  identityProvidersResource,
  externalGroupRoleMappingsResource,
  accountAssociationsResource,
  groupInvitesResource,
  reposResource,
  tagsResource,
  advisoriesResource,
  subscriptionsResource,
]
