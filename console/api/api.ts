// The services of the API. Pages call `api.SERVICE.METHOD`; e2e/console/reachable.test.ts finds these calls.
import { createClient } from '@stemma/api/json'
import { SecurityAdvisoryService } from '@stemma/api/json/platform/advisory/v2beta1/security_advisory'
import { AuditEntriesService } from '@stemma/api/json/platform/audit/v2beta1/audit_entry'
import { DeliveriesService } from '@stemma/api/json/platform/events/v2beta1/delivery'
import { EventsService } from '@stemma/api/json/platform/events/v2beta1/event'
import { SubscriptionsService } from '@stemma/api/json/platform/events/v2beta1/subscription'
import { AccessService } from '@stemma/api/json/platform/iam/v2beta1/access'
import { AccountService } from '@stemma/api/json/platform/iam/v2beta1/account'
import { AccountAssociationsService } from '@stemma/api/json/platform/iam/v2beta1/account_association'
import { ExternalGroupRoleMappingsService } from '@stemma/api/json/platform/iam/v2beta1/external_group_role_mapping'
import { GroupsService } from '@stemma/api/json/platform/iam/v2beta1/group'
import { GroupAccessRequestsService } from '@stemma/api/json/platform/iam/v2beta1/group_access_request'
import { GroupInvitesService } from '@stemma/api/json/platform/iam/v2beta1/group_invite'
import { IdentitiesService } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { IdentityProvidersService } from '@stemma/api/json/platform/iam/v2beta1/identity_provider'
import { RolesService } from '@stemma/api/json/platform/iam/v2beta1/role'
import { RoleBindingsService } from '@stemma/api/json/platform/iam/v2beta1/role_binding'
import { TermsService } from '@stemma/api/json/platform/iam/v2beta1/terms'
import { PingService } from '@stemma/api/json/platform/ping/v2beta1/ping'
import { ImagesService } from '@stemma/api/json/platform/registry/v2beta1/image'
import { PullTokensService } from '@stemma/api/json/platform/registry/v2beta1/pull_token'
import { ReposService } from '@stemma/api/json/platform/registry/v2beta1/repo'
import { TagsService } from '@stemma/api/json/platform/registry/v2beta1/tag'
import { OrganizationsService } from '@stemma/api/json/platform/server/v2beta1/organization'
import { PeopleService } from '@stemma/api/json/platform/server/v2beta1/person'
import { ServerService } from '@stemma/api/json/platform/server/v2beta1/server'
import { AdvisoriesService } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'
import { warn } from '../ui/toast.ts'
import { accessToken, fetchWithToken } from './session.ts'

const options = {
  baseUrl: location.origin + (document.documentElement.dataset.prefix ?? ''),
  token: accessToken,
  fetch: fetchWithToken,
  timeoutMs: 30_000,
  onWarning: warn,
}

export const api = {
  securityAdvisory: createClient(SecurityAdvisoryService, options),
  auditEntries: createClient(AuditEntriesService, options),
  deliveries: createClient(DeliveriesService, options),
  events: createClient(EventsService, options),
  subscriptions: createClient(SubscriptionsService, options),
  access: createClient(AccessService, options),
  account: createClient(AccountService, options),
  accountAssociations: createClient(AccountAssociationsService, options),
  externalGroupRoleMappings: createClient(ExternalGroupRoleMappingsService, options),
  groups: createClient(GroupsService, options),
  groupAccessRequests: createClient(GroupAccessRequestsService, options),
  groupInvites: createClient(GroupInvitesService, options),
  identities: createClient(IdentitiesService, options),
  identityProviders: createClient(IdentityProvidersService, options),
  roles: createClient(RolesService, options),
  roleBindings: createClient(RoleBindingsService, options),
  terms: createClient(TermsService, options),
  ping: createClient(PingService, options),
  images: createClient(ImagesService, options),
  pullTokens: createClient(PullTokensService, options),
  repos: createClient(ReposService, options),
  tags: createClient(TagsService, options),
  people: createClient(PeopleService, options),
  organizations: createClient(OrganizationsService, options),
  server: createClient(ServerService, options),
  advisories: createClient(AdvisoriesService, options),
}
